# SPDX-License-Identifier: Apache-2.0
"""Manifests are valid for their build systems and state the library's version."""

import configparser
import json
import re
from pathlib import Path
from typing import Any

import kconfiglib
import pytest
import yaml
from idf_component_tools.manifest.models import Manifest
from idf_component_tools.manifest.schemas import MANIFEST_JSON_SCHEMA
from jsonschema import Draft7Validator, Draft202012Validator, ValidationError
from platformio.package.manifest.parser import ManifestParserFactory
from platformio.package.manifest.schema import ManifestSchema

import tcuq
from tcuq.errors import TcuqError
from tcuq.firmware import export
from tests.fixtures.manifest_schemas import LIBRARY_PROPERTIES, MODULE_YML

UPLINK = Path(tcuq.__file__).parent / "uplink"


@pytest.fixture(scope="module", autouse=True)
def _no_network() -> Any:
    """PlatformIO would download the list of licences; this list has the one in use."""
    licences = {"licenses": [{"licenseId": "Apache-2.0"}]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ManifestSchema, "load_spdx_licenses", staticmethod(lambda: licences))
        yield


def properties(path: Path) -> dict[str, str]:
    """The `name=value` lines of a file."""
    lines = path.read_text("utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines)


def sources(folder: Path) -> list[str]:
    """The C files of an export."""
    return sorted(f"src/{path.name}" for path in (folder / "src").glob("*.c"))


def listed(folder: Path) -> list[str]:
    """The C files that its CMakeLists.txt names."""
    text = (folder / "CMakeLists.txt").read_text("utf-8")
    return re.findall(r'^\s+"?(src/\S+\.c)"?$', text, re.MULTILINE)


def test_arduino(profile: tcuq.Profile, tmp_path: Path) -> None:
    """library.properties passes arduino-lint's rules, and the layout is that of a library."""
    export(profile, tmp_path, "arduino")
    manifest = properties(tmp_path / "library.properties")
    Draft7Validator(LIBRARY_PROPERTIES).validate(manifest)
    assert manifest["version"] == tcuq.__version__
    assert (tmp_path / "src" / manifest["includes"]).is_file()
    assert (tmp_path / "examples/Minimal/Minimal.ino").is_file()
    with pytest.raises(ValidationError):
        Draft7Validator(LIBRARY_PROPERTIES).validate(manifest | {"category": "Doubt"})


def test_zephyr(profile: tcuq.Profile, tmp_path: Path) -> None:
    """module.yml passes Zephyr's schema, its files exist, Kconfig defines the sample's option."""
    export(profile, tmp_path, "zephyr")
    manifest = yaml.safe_load((tmp_path / "zephyr/module.yml").read_text("utf-8"))
    Draft7Validator(MODULE_YML).validate(manifest)
    assert (tmp_path / manifest["build"]["cmake"] / "CMakeLists.txt").is_file()
    kconfig = kconfiglib.Kconfig(str(tmp_path / manifest["build"]["kconfig"]))
    kconfig.load_config(str(tmp_path / "samples/minimal/prj.conf"))
    assert kconfig.syms["TCUQ_DEVICE"].str_value == "y"
    assert kconfig.warnings == []
    assert listed(tmp_path) == sources(tmp_path)
    with pytest.raises(ValidationError):
        Draft7Validator(MODULE_YML).validate({**manifest, "version": "1"})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_esp_idf(profile: tcuq.Profile, tmp_path: Path) -> None:
    """Both idf_component.yml pass the component manager's schema and model."""
    export(profile, tmp_path, "esp-idf")
    for name in ("idf_component.yml", "examples/minimal/main/idf_component.yml"):
        manifest = yaml.safe_load((tmp_path / name).read_text("utf-8"))
        Draft202012Validator(MANIFEST_JSON_SCHEMA).validate(manifest)
        Manifest.fromdict(manifest)
    manifest = yaml.safe_load((tmp_path / "idf_component.yml").read_text("utf-8"))
    assert manifest["version"] == tcuq.__version__
    assert listed(tmp_path) == sources(tmp_path)
    with pytest.raises(Exception, match="version"):
        Manifest.fromdict(manifest | {"version": "newest"})


def test_platformio(profile: tcuq.Profile, tmp_path: Path) -> None:
    """library.json passes PlatformIO's parser and schema; the example names the library."""
    export(profile, tmp_path, "platformio")
    parser = ManifestParserFactory.new_from_file(str(tmp_path / "library.json"))
    manifest = ManifestSchema().load_manifest(parser.as_dict())
    assert manifest["version"] == tcuq.__version__
    plain = json.loads((tmp_path / "library.json").read_text("utf-8"))
    assert (tmp_path / plain["build"]["srcDir"] / plain["headers"]).is_file()
    project = configparser.ConfigParser()
    project.read(tmp_path / "examples/minimal/platformio.ini")
    here = project["env:nucleo_l432kc"]["lib_deps"].removeprefix("symlink://")
    assert (tmp_path / "examples/minimal" / here / "library.json").resolve().is_file()
    with pytest.raises(Exception, match="version"):
        ManifestSchema().load_manifest(plain | {"version": "newest"})


def test_c(profile: tcuq.Profile, tmp_path: Path) -> None:
    """The CMake project names every source and the version."""
    export(profile, tmp_path, "c")
    text = (tmp_path / "CMakeLists.txt").read_text("utf-8")
    assert listed(tmp_path) == sources(tmp_path)
    assert f"project(tcuq_device VERSION {tcuq.__version__} " in text


@pytest.mark.parametrize("target", ["c", "zephyr", "esp-idf"])
def test_the_uplink_is_built_with_the_rest(
    target: str, profile: tcuq.Profile, tmp_path: Path
) -> None:
    """The uplink's files are copied and listed, and removed by an export without the option."""
    export(profile, tmp_path, target, uplink=True)
    names = sources(tmp_path)
    assert {path.name for path in UPLINK.glob("*.c")} <= {Path(name).name for name in names}
    assert listed(tmp_path) == names
    export(profile, tmp_path, target)
    assert not (tmp_path / "src/tcuq_uplink.h").exists()
    with pytest.raises(TcuqError, match="the uplink sends the telemetry record"):
        export(profile, tmp_path, target, uplink=True, telemetry=False)
