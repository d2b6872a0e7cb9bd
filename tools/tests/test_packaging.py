# SPDX-License-Identifier: Apache-2.0
"""What a release holds: README for PyPI, licences, and sources that other compilers accept."""

import json
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tools.packaging.licences import ALLOWED, LicenceError, check_allowed, check_wheel
from tools.packaging.pypi_metadata import LINK, PICTURE, readme, urls

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
ADDRESS = "https://example.org/tcuq"
C_FOLDERS = ("runtime", "uplink", "ota")
SOURCES = [path for name in C_FOLDERS for path in sorted((ROOT / "src/tcuq" / name).glob("*.c"))]


def test_links_are_absolute_with_an_address() -> None:
    """Every link and picture of the README leads to the repository at the release's tag."""
    text = readme(README, ADDRESS, "1.2.3")
    assert not LINK.search(text)
    assert not PICTURE.search(text)
    assert f"({ADDRESS}/blob/v1.2.3/docs/quickstart.md)" in text
    assert f"({ADDRESS}/raw/v1.2.3/docs/report.png)" in text


def test_no_link_is_dead_without_an_address() -> None:
    """Without a public address the README has neither relative links nor pictures."""
    text = readme(README, "", "1.2.3")
    assert not LINK.search(text)
    assert not PICTURE.search(text)
    assert "Quickstart" in text
    assert urls("") == {}


def test_a_licence_that_forbids_commercial_use_is_refused() -> None:
    """One file under such a licence, or under none, fails the check, also beside an allowed one."""
    check_allowed({"a.c": ("Apache-2.0",), "b.npz": ("MIT AND CC-BY-4.0",)})
    for wrong in (("CC-BY-NC-4.0",), ("MIT AND CC-BY-NC-4.0",), ()):
        with pytest.raises(LicenceError, match=r"b\.npz: licence must be one of"):
            check_allowed({"a.c": ("Apache-2.0",), "b.npz": wrong})


def test_a_file_that_only_the_wheel_has_is_refused(tmp_path: Path) -> None:
    """Every file of a wheel is a file of the source package, built or metadata."""
    package = tmp_path / "tcuq-1/src/tcuq"
    package.mkdir(parents=True)
    (package / "a.py").write_text("")
    (package / "LICENSE-Data").write_text("")  # REUSE leaves it out
    wheel, sdist = tmp_path / "tcuq.whl", tmp_path / "tcuq.tar.gz"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in package.iterdir():
            archive.write(path, f"tcuq/{path.name}")
    with tarfile.open(sdist, "w:gz") as source:
        source.add(tmp_path / "tcuq-1", "tcuq-1")
    assert check_wheel(wheel, sdist) == 2
    with tarfile.open(sdist, "w:gz") as source:
        source.add(package / "LICENSE-Data", "tcuq-1/src/tcuq/LICENSE-Data")
    with pytest.raises(LicenceError, match=r"holds tcuq/a\.py"):
        check_wheel(wheel, sdist)


def test_every_allowed_licence_has_its_text() -> None:
    """LICENSES holds the text of each licence, and no other."""
    assert {path.stem for path in (ROOT / "LICENSES").iterdir()} == ALLOWED


def test_data_sets_of_results_permit_commercial_use() -> None:
    """No data set behind the benchmark is licensed for non-commercial use alone."""
    manifest = json.loads(
        (ROOT / "benchmark/src/tcuq_benchmark/data/manifest.json").read_text("utf-8")
    )
    licences = [str(entry.get("licence", "")) for entry in manifest.values()]
    assert any(licences)
    assert not [licence for licence in licences if "NC" in licence.upper().replace("LICENCE", "")]


def test_visual_studio_would_accept_the_c_sources() -> None:
    """Clang in the mode of Microsoft's compiler finds no error or warning, without GNU's macros."""
    target = ("--target=x86_64-pc-windows-msvc", "-std=c11", "-ffreestanding", "-fsyntax-only")
    includes = [f"-I{ROOT / 'src/tcuq' / name}" for name in C_FOLDERS]
    warnings = ("-Wall", "-Wextra", "-Wno-unused-function", "-Werror")
    subprocess.run(["clang", *target, *warnings, *includes, *SOURCES], check=True)


def test_no_distribution_holds_the_trained_weights() -> None:
    """Source packages leave benchmark/weights out; the fleet's begins in a folder beside it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "/benchmark" in settings["tool"]["scikit-build"]["sdist"]["exclude"]
    build = tomllib.loads((ROOT / "benchmark/pyproject.toml").read_text("utf-8"))["tool"]["hatch"]
    targets = build["build"]["targets"]
    assert targets["sdist"]["exclude"] == ["/weights"]
    assert targets["wheel"]["packages"] == ["src/tcuq_benchmark"]


def test_the_sdist_excludes_nothing_that_the_build_needs() -> None:
    """The provider of the README is in the repository that the source package is made of."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    provider = settings["tool"]["scikit-build"]["metadata"]["readme"]
    assert (ROOT / provider["provider-path"] / f"{provider['provider']}.py").is_file()
