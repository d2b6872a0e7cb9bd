# SPDX-License-Identifier: Apache-2.0
import hashlib
import tarfile
import zipfile
from pathlib import Path

import pytest

from benchmark.atomic import appearing
from benchmark.data import fetch as fetching
from benchmark.data.__main__ import main
from benchmark.data.files import File, Package, Source

CONTENT = {"a.bin": b"first", "b.bin": b"second"}


@pytest.fixture
def registry(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Path:
    """A set `made` whose package a client, here a copy command, brings from a folder."""
    packed: dict[str, bytes] = getattr(request, "param", CONTENT)
    folder = nowhere / "registry"
    folder.mkdir()
    archive = folder / "made-1.whl"
    with zipfile.ZipFile(archive, "w") as wheel:
        for name, content in packed.items():
            wheel.writestr(f"made/{name}", content)
    listed = tuple(
        File(name, len(content), hashlib.sha256(content).hexdigest(), f"made/{name}")
        for name, content in CONTENT.items()
    )
    made = Source("made", "made", "none", Package("pip", "made", "1"), listed)
    monkeypatch.setattr(fetching, "manifest", lambda: {"made": made})
    monkeypatch.setattr(fetching, "command", lambda _: ["cp", str(archive), "."])
    return archive


def stored(nowhere: Path) -> dict[str, bytes]:
    """The files of the set in the cache; nothing else may lie there."""
    found = {path.name: path.read_bytes() for path in (nowhere / "cache").rglob("*.*")}
    assert not any(name.endswith(".part") for name in found)
    assert not list((nowhere / "cache").glob("fetch-*"))
    return found


@pytest.mark.usefixtures("registry")
def test_files_are_unpacked_checked_and_named(nowhere: Path) -> None:
    """After a fetch the cache holds the files, and a second fetch does nothing."""
    lines: list[str] = []
    fetching.fetch(["made"], lines.append)
    assert stored(nowhere) == CONTENT
    assert any("2/2 b.bin: checked" in line for line in lines)
    again: list[str] = []
    fetching.fetch(["made"], again.append)
    assert again == ["[1/1] made: already in the cache"]


@pytest.mark.parametrize("registry", [CONTENT | {"b.bin": b"sec0nd"}], indirect=True)
@pytest.mark.usefixtures("registry")
def test_wrong_content_never_takes_the_name(nowhere: Path) -> None:
    """The good file stays, the bad one leaves no trace."""
    with pytest.raises(ValueError, match=r"made/b\.bin is not the file the manifest names"):
        fetching.fetch(["made"], lambda _: None)
    assert stored(nowhere) == {"a.bin": CONTENT["a.bin"]}


@pytest.mark.parametrize("registry", [{"a.bin": CONTENT["a.bin"]}], indirect=True)
@pytest.mark.usefixtures("registry")
def test_package_without_the_file_is_refused(nowhere: Path) -> None:
    """A member that is not there is said like one that is wrong."""
    with pytest.raises(ValueError, match=r"made/b\.bin"):
        fetching.fetch(["made"], lambda _: None)
    assert stored(nowhere) == {"a.bin": CONTENT["a.bin"]}


def test_interrupted_fetch_goes_on(registry: Path, nowhere: Path) -> None:
    """What was finished is not brought again: only the missing file is."""
    assert registry.exists()

    def stop(line: str) -> None:
        if "1/2" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetching.fetch(["made"], stop)
    assert stored(nowhere) == {"a.bin": CONTENT["a.bin"]}
    lines: list[str] = []
    fetching.fetch(["made"], lines.append)
    assert "[1/1] made: 1 files, 0.0 MB, licence: none" in lines
    assert stored(nowhere) == CONTENT


@pytest.mark.usefixtures("registry")
def test_damaged_file_is_fetched_again(nowhere: Path) -> None:
    """The loader's advice for a damaged file works."""
    fetching.fetch(["made"], lambda _: None)
    (nowhere / "cache" / "data" / "made" / "b.bin").write_bytes(b"damaged")
    fetching.fetch(["made"], lambda _: None)
    assert stored(nowhere) == CONTENT


def test_client_that_fails_is_said(
    registry: Path, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No network: an error of one line, and nothing in the cache."""
    assert registry.exists()
    monkeypatch.setattr(fetching, "command", lambda _: ["false"])
    with pytest.raises(OSError, match="false did not bring made"):
        fetching.fetch(["made"], lambda _: None)
    assert stored(nowhere) == {}


def test_tar_is_read_too(tmp_path: Path) -> None:
    """Packages of npm are tars."""
    (tmp_path / "a.bin").write_bytes(b"first")
    with tarfile.open(tmp_path / "made.tgz", "w:gz") as tar:
        tar.add(tmp_path / "a.bin", "package/a.bin")
    opened = fetching.member_opener(tmp_path / "made.tgz")("package/a.bin")
    assert opened is not None
    assert opened.read() == b"first"


def test_error_inside_leaves_no_file(tmp_path: Path) -> None:
    """A file that is being written when something breaks is not there afterwards."""

    def break_half_way() -> None:
        with appearing(tmp_path / "a.bin") as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_half_way()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "said"), [("hapt", "hapt cannot be fetched"), ("nothing", "must be one of hapt")]
)
def test_command_refuses_in_one_line(
    name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A set that cannot be had, or that nobody knows, ends the command with status 1."""
    assert main(["fetch", name]) == 1
    assert said in capsys.readouterr().err


def test_command_lists_what_is_here(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every set is listed, with how to get it."""
    assert not (nowhere / "cache").exists()
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert "python -m benchmark.data fetch mnist" in lines[5]
