# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from tcuq.files import atomic_write


def test_file_appears_whole(tmp_path: Path) -> None:
    """The name, a str or a Path, holds the old content until the block ends, then the new one."""
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]
    with atomic_write(str(tmp_path / "a.bin")) as file:
        file.write(b"new")
    assert (tmp_path / "a.bin").read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("before", [[b"old"], []])
def test_error_leaves_the_old_file(
    tmp_path: Path, error: type[BaseException], before: list[bytes]
) -> None:
    """After any exception in the block, the folder is unchanged."""
    path = tmp_path / "a.bin"
    for content in before:
        path.write_bytes(content)

    def interrupted() -> None:
        with atomic_write(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert [p.read_bytes() for p in tmp_path.iterdir()] == before


@pytest.mark.parametrize("path", [".", "", "/", "none/a.bin"])
def test_file_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A path without a file name or in a missing folder is an OSError that names this path."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match=r"\[Errno \d+\]") as caught, atomic_write(path):
        pass
    assert caught.value.filename == path
    assert list(tmp_path.iterdir()) == []


def test_folders_and_other_writers_are_not_disturbed(tmp_path: Path) -> None:
    """A folder is not replaced and is named; of two writers the last to finish wins."""
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError) as caught, atomic_write(tmp_path / "a") as file:
        file.write(b"new")
    assert caught.value.filename == str(tmp_path / "a")
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]
    path = tmp_path / "a.bin"
    with atomic_write(path) as first:
        first.write(b"first")
        with atomic_write(path) as second:
            second.write(b"the second")
        assert path.read_bytes() == b"the second"
    assert path.read_bytes() == b"first"
