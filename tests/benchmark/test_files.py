# SPDX-License-Identifier: Apache-2.0
import hashlib
from pathlib import Path

import pytest

from benchmark.data.files import (
    DataDamagedError,
    DataMissingError,
    File,
    Package,
    Source,
    checked_files,
    is_present,
    manifest,
)


def made(content: bytes = b"abc", package: Package | None = None) -> Source:
    """A data set of one small file."""
    file = File("a.bin", len(content), hashlib.sha256(content).hexdigest(), None)
    return Source("made", "made-folder", "none", package, (file,))


def put(folder: Path, content: bytes) -> Path:
    """The file of that data set, with this content."""
    folder.mkdir(parents=True)
    (folder / "a.bin").write_bytes(content)
    return folder / "a.bin"


def test_missing_data_says_name_places_and_remedy(nowhere: Path) -> None:
    """One message: which set, where it was looked for, what gets it."""
    with pytest.raises(DataMissingError) as error:
        checked_files(made(package=Package("npm", "made", "1")))
    message = str(error.value)
    assert "made" in message
    assert str(nowhere / "given" / "made-folder") in message
    assert str(nowhere / "cache" / "data" / "made-folder") in message
    assert "python -m benchmark.data fetch made" in message


def test_missing_data_that_no_registry_has_says_where_to_put_it(nowhere: Path) -> None:
    """No command is promised that cannot work."""
    assert not (nowhere / "given").exists()
    with pytest.raises(DataMissingError, match=r"put its files into \$TCUQ_DATA/made-folder"):
        checked_files(made())


def test_unset_place_is_said(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without $TCUQ_DATA the message says so."""
    monkeypatch.delenv("TCUQ_DATA")
    with pytest.raises(DataMissingError, match=r"\$TCUQ_DATA is not set") as error:
        checked_files(made())
    assert str(nowhere / "cache") in str(error.value)


def test_given_place_comes_before_the_cache(nowhere: Path) -> None:
    """Both places hold the file: $TCUQ_DATA's is taken."""
    put(nowhere / "cache" / "data" / "made-folder", b"abc")
    given = put(nowhere / "given" / "made-folder", b"abc")
    assert checked_files(made()) == {"a.bin": given}


def test_cache_is_used_when_nothing_is_given(nowhere: Path) -> None:
    """A set in the cache alone is found."""
    cached = put(nowhere / "cache" / "data" / "made-folder", b"abc")
    assert checked_files(made()) == {"a.bin": cached}


@pytest.mark.parametrize(("content", "rule"), [(b"abcd", "3 bytes, got 4"), (b"abd", "SHA-256")])
def test_damaged_file_is_refused(nowhere: Path, content: bytes, rule: str) -> None:
    """Another size or another hash: the file is named, and what was wanted."""
    put(nowhere / "given" / "made-folder", content)
    with pytest.raises(DataDamagedError, match=rule):
        checked_files(made())


def test_manifest_is_sound() -> None:
    """Names are plain, hashes whole, and every file of a package says where it is in it."""
    assert len(manifest()) == 10
    for source in manifest().values():
        assert source.licence
        for file in source.files:
            assert Path(file.name).name == file.name
            assert len(file.sha256) == 64
            assert 0 < file.size_bytes < 100_000_000
            assert (file.member is None) == (source.package is None)


def test_identity_changes_with_any_file() -> None:
    """The hash of a set is the hash of its files."""
    assert made(b"abc").sha256 == made(b"abc").sha256 != made(b"abd").sha256


def test_presence_asks_for_every_file(nowhere: Path) -> None:
    """A folder with some of the files does not count."""
    folder = nowhere / "given" / "mnist"
    folder.mkdir(parents=True)
    for file in manifest()["mnist"].files[1:]:
        (folder / file.name).touch()
    assert not is_present("mnist")
    (folder / manifest()["mnist"].files[0].name).touch()
    assert is_present("mnist")
