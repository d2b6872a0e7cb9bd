# SPDX-License-Identifier: Apache-2.0
import hashlib
from pathlib import Path

import pytest

from tcuq_benchmark.data.files import (
    DataDamagedError,
    DataMissingError,
    File,
    Package,
    Source,
    checked_source,
    is_present,
    manifest,
)


def example_set(content: bytes = b"abc", package: Package | None = None) -> Source:
    """Return a data set of one small file."""
    file = File("a.bin", len(content), hashlib.sha256(content).hexdigest(), None)
    return Source("example", "example-folder", "none", package, (file,))


def put(folder: Path, content: bytes) -> Path:
    """Write the file of that data set."""
    folder.mkdir(parents=True)
    (folder / "a.bin").write_bytes(content)
    return folder / "a.bin"


def test_missing_data_names_the_set_the_folders_and_the_remedy(empty_folders: Path) -> None:
    """One message: which set, where it was searched, how to get it."""
    with pytest.raises(DataMissingError) as error:
        checked_source(example_set(package=Package("npm", "example", "1")))
    message = str(error.value)
    assert "example" in message
    assert str(empty_folders / "configured" / "example-folder") in message
    assert str(empty_folders / "cache" / "data" / "example-folder") in message
    assert "python -m tcuq_benchmark.data fetch example" in message


def test_missing_data_in_no_registry_says_where_to_put_it(empty_folders: Path) -> None:
    """The error does not name a command that cannot work."""
    assert not (empty_folders / "configured").exists()
    with pytest.raises(DataMissingError, match=r"put its files into \$TCUQ_DATA/example-folder"):
        checked_source(example_set())


def test_unset_folder_is_reported(empty_folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without $TCUQ_DATA the message says so."""
    monkeypatch.delenv("TCUQ_DATA")
    with pytest.raises(DataMissingError, match=r"\$TCUQ_DATA is not set") as error:
        checked_source(example_set())
    assert str(empty_folders / "cache") in str(error.value)


def test_configured_folder_comes_before_the_cache(empty_folders: Path) -> None:
    """If both folders have the file, $TCUQ_DATA's is used."""
    put(empty_folders / "cache" / "data" / "example-folder", b"abc")
    configured = put(empty_folders / "configured" / "example-folder", b"abc")
    assert checked_source(example_set()) == {"a.bin": configured}


def test_cache_is_used_when_tcuq_data_has_no_file(empty_folders: Path) -> None:
    """A set in the cache alone is found."""
    cached = put(empty_folders / "cache" / "data" / "example-folder", b"abc")
    assert checked_source(example_set()) == {"a.bin": cached}


@pytest.mark.parametrize(("content", "rule"), [(b"abcd", "3 bytes, got 4"), (b"abd", "SHA-256")])
def test_damaged_file_is_refused(empty_folders: Path, content: bytes, rule: str) -> None:
    """Another size or another hash: the file is named, and what was wanted."""
    put(empty_folders / "configured" / "example-folder", content)
    with pytest.raises(DataDamagedError, match=rule):
        checked_source(example_set())


def test_manifest_is_sound() -> None:
    """Names are plain, hashes whole, and every file of a package says where it is in it."""
    for source in manifest().values():
        assert source.licence
        for file in source.files:
            assert Path(file.name).name == file.name
            assert len(file.sha256) == 64
            assert 0 < file.size_bytes < 100_000_000
            assert (file.member is None) == (source.package is None)


def test_identity_changes_with_any_file() -> None:
    """The hash of a set is the hash of its files."""
    assert example_set(b"abc").sha256 == example_set(b"abc").sha256 != example_set(b"abd").sha256


def test_presence_asks_for_every_file(empty_folders: Path) -> None:
    """A folder with some of the files does not count."""
    folder = empty_folders / "configured" / "mnist"
    folder.mkdir(parents=True)
    for file in manifest()["mnist"].files[1:]:
        (folder / file.name).touch()
    assert not is_present("mnist")
    (folder / manifest()["mnist"].files[0].name).touch()
    assert is_present("mnist")
