# SPDX-License-Identifier: Apache-2.0
"""Checks the runtime package as each registry does; a check returns the tool or schema it used."""

import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from unittest import mock

import kconfiglib
import yaml
from jsonschema import Draft7Validator
from lxml import etree
from platformio.package.manifest.schema import ManifestSchema
from platformio.package.pack import PackagePacker

from tcuq.version import __version__
from tests.fixtures.manifest_schemas import LIBRARY_PROPERTIES, MODULE_YML, PACK_XSD
from tools.registries.package import EXAMPLE, PDSC

# The licences that PlatformIO accepts; it would download the list of all.
LICENCES = {"licenses": [{"licenseId": "Apache-2.0"}]}
CONSUMER = """
cmake_minimum_required(VERSION 3.16...4.0)
project(consumer LANGUAGES C)
include(FetchContent)
FetchContent_Declare(tcuq GIT_REPOSITORY "{repository}" GIT_TAG "v{version}")
FetchContent_MakeAvailable(tcuq)
add_executable(consumer main.c {profile}/tcuq_demo.c {profile}/tcuq_demo_selftest.c)
target_include_directories(consumer PRIVATE {profile})
target_link_libraries(consumer PRIVATE tcuq::runtime)
"""
MAIN_C = '#include "tcuq_demo.h"\nint main(void) { return tcuq_demo_selftest() != 0; }\n'
GIT = ("git", "-c", "user.name=tcuq", "-c", "user.email=", "-c", "init.defaultBranch=main")


class PackageError(Exception):
    """The package breaks a rule of a registry."""


def arduino(package: Path, _work: Path) -> str:
    """Check `library.properties` and the layout of a library."""
    lines = (package / "library.properties").read_text("utf-8").splitlines()
    manifest = dict(line.split("=", 1) for line in lines)
    Draft7Validator(LIBRARY_PROPERTIES).validate(manifest)
    _same("library.properties", manifest["version"])
    _exists(package, f"src/{manifest['includes']}", f"{EXAMPLE}/{Path(EXAMPLE).name}.ino")
    return "schema of arduino-lint, transcribed; arduino-lint is in no package registry"


def platformio(package: Path, work: Path) -> str:
    """Pack the library as `pio pkg pack` does."""
    with mock.patch.object(ManifestSchema, "load_spdx_licenses", staticmethod(lambda: LICENCES)):
        archive = Path(PackagePacker(str(package)).pack(str(work)))
    _same("library.json", re.sub(r"^tcuq-|\.tar\.gz$", "", archive.name))
    return f"packer of platformio {version('platformio')}"


def esp_idf(package: Path, work: Path) -> str:
    """Pack the component with the registry's own command."""
    command = [sys.executable, "-m", "idf_component_manager", "--warnings-as-errors", "component"]
    run([*command, "pack", "--name", "tcuq", "--project-dir", package, "--dest-dir", work])
    _exists(work, f"tcuq_{__version__}.tgz")
    return f"compote component pack of idf-component-manager {version('idf-component-manager')}"


def zephyr(package: Path, _work: Path) -> str:
    """Check `module.yml`, the files that it names and the option in Kconfig."""
    manifest = yaml.safe_load((package / "zephyr/module.yml").read_text("utf-8"))
    Draft7Validator(MODULE_YML).validate(manifest)
    build = manifest["build"]
    _exists(package, f"{build['cmake']}/CMakeLists.txt", build["kconfig"])
    kconfig = kconfiglib.Kconfig(str(package / build["kconfig"]))
    if "TCUQ" not in kconfig.syms or kconfig.warnings:
        raise PackageError(f"Kconfig must define TCUQ without warnings, got {kconfig.warnings}")
    return f"schema of zephyr_module.py, transcribed; kconfiglib {version('kconfiglib')}"


def cmsis_pack(package: Path, work: Path) -> str:
    """Check the pack's description against the schema, and that the files it names exist."""
    description = etree.parse(package / PDSC)
    etree.XMLSchema(etree.fromstring(PACK_XSD)).assertValid(description)
    _same(PDSC, description.find(".//release").get("version"))
    _exists(package, *(file.get("name") for file in description.iter("file")))
    archive = work / f"{PDSC.removesuffix('.pdsc')}.{__version__}.pack"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as pack:
        for path in sorted(package.rglob("*")):
            pack.write(path, path.relative_to(package))
    return "PACK.xsd 1.7.60, transcribed; packchk is in no package registry"


def cmake(package: Path, work: Path) -> str:
    """Fetch the package from a git repository, build a program with it and run its self-test."""
    repository, consumer = work / "repository", work / "consumer"
    repository.mkdir()
    run(["cp", "-r", f"{package}/.", repository])
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["commit", "-qm", "tcuq"],
        ["tag", f"v{__version__}"],
    ):
        run([*GIT, "-C", repository, *words])
    consumer.mkdir()
    lists = CONSUMER.format(repository=repository, version=__version__, profile=package / EXAMPLE)
    (consumer / "CMakeLists.txt").write_text(lists, "utf-8")
    (consumer / "main.c").write_text(MAIN_C, "utf-8")
    run(["cmake", "-S", consumer, "-B", consumer / "build"])
    run(["cmake", "--build", consumer / "build"])
    run([consumer / "build/consumer"])
    release = subprocess.check_output(["cmake", "--version"], text=True).splitlines()[0]
    return f"FetchContent of {release}, built and self-tested"


REGISTRIES: Mapping[str, Callable[[Path, Path], str]] = MappingProxyType(
    {
        "Arduino Library Manager": arduino,
        "PlatformIO": platformio,
        "ESP Component Registry": esp_idf,
        "Zephyr module": zephyr,
        "CMSIS-Pack": cmsis_pack,
        "CMake FetchContent": cmake,
    }
)


def run(command: list[str | Path]) -> None:
    """Run a command; PackageError with the end of its output if it fails."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        words = " ".join(map(str, command[:4]))
        raise PackageError(
            f"{words}: exit {result.returncode}: {(result.stdout + result.stderr)[-800:]}"
        )


def _same(name: str, number: str | None) -> None:
    if number != __version__:
        raise PackageError(f"{name} must state version {__version__}, states {number}")


def _exists(folder: Path, *names: str) -> None:
    missing = [name for name in names if not (folder / name).exists()]
    if missing:
        raise PackageError(f"the package must have {', '.join(missing)}")
