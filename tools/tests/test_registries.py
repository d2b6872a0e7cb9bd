# SPDX-License-Identifier: Apache-2.0
"""The runtime package is valid for every registry, and wrong packages are refused."""

import shutil
import subprocess
from pathlib import Path

import pytest

import tcuq
from tcuq.demo import demo_profile
from tcuq.firmware import export
from tests.fixtures.firmware.arduino import self_test_of_sketch
from tests.fixtures.firmware.exports import BUILDS, emulated
from tools.registries.package import EXAMPLE, PDSC, package_files, read_facts, write_package
from tools.registries.validate import REGISTRIES

ADDRESS = "https://example.org/tcuq"
DAMAGE = {
    "Arduino Library Manager": ("library.properties", "category=Data Processing", "category=Doubt"),
    "PlatformIO": ("library.json", f'"{tcuq.__version__}"', '"newest"'),
    "ESP Component Registry": ("idf_component.yml", f'"{tcuq.__version__}"', '"newest"'),
    "Zephyr module": ("zephyr/module.yml", "name: tcuq", "version: 1"),
    "CMSIS-Pack": (PDSC, 'category="include"', 'category="folder"'),
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the rendered package."""
    folder = tmp_path_factory.mktemp("registries")
    write_package(folder / "tcuq", read_facts(ADDRESS), folder / "example")
    return folder / "tcuq"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("registry", REGISTRIES)
def test_the_package_is_valid(registry: str, package: Path, tmp_path: Path) -> None:
    """The registry's tool or schema accepts the package."""
    assert REGISTRIES[registry](package, tmp_path)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("registry", DAMAGE)
def test_a_wrong_manifest_is_refused(registry: str, tmp_path: Path) -> None:
    """One wrong value makes the check of its registry fail, so the check reads the manifest."""
    name, right, wrong = DAMAGE[registry]
    write_package(tmp_path / "tcuq", read_facts(ADDRESS), tmp_path / "example")
    manifest = tmp_path / "tcuq" / name
    text = manifest.read_text("utf-8")
    assert right in text
    manifest.write_text(text.replace(right, wrong), "utf-8")
    (tmp_path / "work").mkdir()
    with pytest.raises(Exception, match=r"."):
        REGISTRIES[registry](tmp_path / "tcuq", tmp_path / "work")


def test_no_template_name_is_left(package: Path) -> None:
    """Every @NAME@ of a template was replaced."""
    for path in package.rglob("*"):
        assert path.is_dir() or "@VERSION@" not in path.read_text("utf-8")


def test_the_package_has_the_sources_of_an_export(package: Path, tmp_path: Path) -> None:
    """Runtime, uplink and blob loader are those of `tcuq export`, but for the parts it selects."""
    export(demo_profile(), tmp_path, "c", uplink=True, ota=True)
    copied = {path.name for path in (tmp_path / "src").iterdir() if "device" not in path.name}
    assert {path.name for path in (package / "src").iterdir()} >= copied
    for name in copied - {"tcuq.h"}:
        assert (package / "src" / name).read_bytes() == (tmp_path / "src" / name).read_bytes()


def test_a_profile_of_another_runtime_does_not_compile(package: Path, tmp_path: Path) -> None:
    """The profile's header refuses a package whose runtime has another digest."""
    header = (package / "src/tcuq.h").read_text("utf-8")
    other = header.replace("DIGEST 0x", "DIGEST 0x1 + 0x", 1)
    (tmp_path / "tcuq.h").write_text(other, "utf-8")
    command = ["cc", "-std=c99", "-c", str(package / EXAMPLE / "tcuq_demo.c"), "-o", "/dev/null"]
    result = subprocess.run(
        [*command, f"-I{tmp_path}", f"-I{package / EXAMPLE}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "was exported with another runtime" in result.stderr
    subprocess.run([*command, f"-I{package / 'src'}"], check=True)


def test_without_an_address_the_package_says_so(tmp_path: Path) -> None:
    """No invented address gets into a manifest."""
    files = package_files(read_facts(), tmp_path / "example")
    assert "url=urn:tcuq" in files["library.properties"]


def test_a_profile_beside_the_runtime_package(tmp_path: Path) -> None:
    """A profile exported without the runtime decides as the host with the published runtime."""
    out = tmp_path / "out"
    write_package(out, read_facts(), tmp_path / "example")
    export(demo_profile(), tmp_path / "profile", "profile")
    assert not (tmp_path / "profile/src/tcuq.h").exists()
    shutil.copytree(tmp_path / "profile/src", out / "src", dirs_exist_ok=True)
    program = '#include "tcuq_device.h"\nint main(void)\n{\n    return tcuq_device_selftest();\n}\n'
    (out / "main.c").write_text(program, "utf-8")
    emulated(BUILDS["c"], out, tmp_path / "objects")


def test_the_published_library_passes_the_self_test(tmp_path: Path) -> None:
    """The runtime package beside a profile in the sketch's folder passes it as well."""
    write_package(tmp_path / "libraries/tcuq", read_facts(), tmp_path / "profile")
    assert self_test_of_sketch(tmp_path / "libraries/tcuq", tmp_path) == "self-test 0"
