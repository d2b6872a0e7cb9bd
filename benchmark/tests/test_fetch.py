# SPDX-License-Identifier: Apache-2.0
import hashlib
import tarfile
import zipfile
from pathlib import Path

import pytest

from tcuq_benchmark.data import fetch as fetching
from tcuq_benchmark.data.__main__ import main
from tcuq_benchmark.data.files import File, Package, Source, manifest

CONTENT = {"a.bin": b"first", "b.bin": b"second"}


@pytest.fixture
def registry(
    empty_folders: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Path:
    """Return a package of the set `example`, which a copy command downloads."""
    packed: dict[str, bytes] = getattr(request, "param", CONTENT)
    folder = empty_folders / "registry"
    folder.mkdir()
    archive = folder / "example-1.whl"
    with zipfile.ZipFile(archive, "w") as wheel:
        for name, content in packed.items():
            wheel.writestr(f"example/{name}", content)
    listed = tuple(
        File(name, len(content), hashlib.sha256(content).hexdigest(), f"example/{name}")
        for name, content in CONTENT.items()
    )
    example = Source("example", "example", "none", Package("pip", "example", "1"), listed)
    monkeypatch.setattr(fetching, "manifest", lambda: {"example": example})
    monkeypatch.setattr(fetching, "command", lambda _: ["cp", str(archive), "."])
    return archive


def stored(empty_folders: Path) -> dict[str, bytes]:
    """Return the files of the set in the cache, which holds nothing else."""
    content = {path.name: path.read_bytes() for path in (empty_folders / "cache").rglob("*.*")}
    assert not any(name.endswith(".part") for name in content)
    assert not list((empty_folders / "cache").glob("fetch-*"))
    return content


@pytest.mark.usefixtures("registry")
def test_files_are_unpacked_checked_and_named(empty_folders: Path) -> None:
    """After a fetch the cache holds the files, and a second fetch does nothing."""
    lines: list[str] = []
    fetching.fetch(["example"], lines.append)
    assert stored(empty_folders) == CONTENT
    assert any("2/2 b.bin: checked" in line for line in lines)
    again: list[str] = []
    fetching.fetch(["example"], again.append)
    assert again == ["[1/1] example: already in the cache"]


@pytest.mark.parametrize("registry", [CONTENT | {"b.bin": b"sec0nd"}], indirect=True)
@pytest.mark.usefixtures("registry")
def test_wrong_content_never_takes_the_name(empty_folders: Path) -> None:
    """The good file stays, the bad one leaves no trace."""
    with pytest.raises(ValueError, match=r"example/b\.bin is not the file the manifest names"):
        fetching.fetch(["example"], lambda _: None)
    assert stored(empty_folders) == {"a.bin": CONTENT["a.bin"]}


@pytest.mark.parametrize("registry", [{"a.bin": CONTENT["a.bin"]}], indirect=True)
@pytest.mark.usefixtures("registry")
def test_package_without_the_file_is_refused(empty_folders: Path) -> None:
    """A missing member gives the same error as a wrong one."""
    with pytest.raises(ValueError, match=r"example/b\.bin"):
        fetching.fetch(["example"], lambda _: None)
    assert stored(empty_folders) == {"a.bin": CONTENT["a.bin"]}


def test_interrupted_fetch_resumes(registry: Path, empty_folders: Path) -> None:
    """Only the missing file is downloaded again."""
    assert registry.exists()

    def stop(line: str) -> None:
        if "1/2" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetching.fetch(["example"], stop)
    assert stored(empty_folders) == {"a.bin": CONTENT["a.bin"]}
    lines: list[str] = []
    fetching.fetch(["example"], lines.append)
    assert "[1/1] example: 1 files, 0.0 MB, licence: none" in lines
    assert stored(empty_folders) == CONTENT


@pytest.mark.usefixtures("registry")
def test_damaged_file_is_fetched_again(empty_folders: Path) -> None:
    """The loader's advice for a damaged file works."""
    fetching.fetch(["example"], lambda _: None)
    (empty_folders / "cache" / "data" / "example" / "b.bin").write_bytes(b"damaged")
    fetching.fetch(["example"], lambda _: None)
    assert stored(empty_folders) == CONTENT


def test_failing_client_is_reported(
    registry: Path, empty_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a network the error is one line and nothing is in the cache."""
    assert registry.exists()
    monkeypatch.setattr(fetching, "command", lambda _: ["false"])
    with pytest.raises(OSError, match="false did not download example"):
        fetching.fetch(["example"], lambda _: None)
    assert stored(empty_folders) == {}


def test_tar_is_read_too(tmp_path: Path) -> None:
    """Packages of npm are tars."""
    (tmp_path / "a.bin").write_bytes(b"first")
    with tarfile.open(tmp_path / "example.tgz", "w:gz") as tar:
        tar.add(tmp_path / "a.bin", "package/a.bin")
    opened = fetching.member_opener(tmp_path / "example.tgz")("package/a.bin")
    assert opened is not None
    assert opened.read() == b"first"


@pytest.mark.parametrize(
    ("name", "message"), [("hapt", "hapt cannot be fetched"), ("nothing", "must be one of hapt")]
)
def test_command_refuses_in_one_line(
    name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A set that is in no registry, or unknown, ends the command with status 1."""
    assert main(["fetch", name]) == 1
    assert message in capsys.readouterr().err


def test_command_lists_every_set(empty_folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every set is listed, with how to get it."""
    assert not (empty_folders / "cache").exists()
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(manifest())
    assert any("python -m tcuq_benchmark.data fetch mnist" in line for line in lines)
