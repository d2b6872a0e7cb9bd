# SPDX-License-Identifier: Apache-2.0
"""Exports in folders: reproducible, safe to repeat, with manifests that pass validation."""

import configparser
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kconfiglib
import numpy as np
import pytest
import yaml
from idf_component_tools.manifest.models import Manifest
from idf_component_tools.manifest.schemas import MANIFEST_JSON_SCHEMA
from jsonschema import Draft7Validator, Draft202012Validator, ValidationError
from platformio.package.manifest.parser import ManifestParserFactory
from platformio.package.manifest.schema import ManifestSchema

import tcuq
from tcuq.cli import main
from tcuq.errors import ExportError, TcuqError
from tcuq.firmware import TARGETS, differences, export
from tcuq.firmware.header import Member, number, structs
from tcuq.firmware.selftest import ROWS, vectors
from tcuq.monitor import Monitor
from tcuq.profile.quantize import quantize
from tests.fixtures.conformance import quiet_fit
from tests.fixtures.manifest_schemas import LIBRARY_PROPERTIES, MODULE_YML

UPLINK = Path(tcuq.__file__).parent / "uplink"


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("target", list(TARGETS))
def test_the_same_bytes_each_time(target: str, profile: tcuq.Profile, tmp_path: Path) -> None:
    """Two exports are equal, replace every @NAME@, and hold no path of this machine."""
    for name in ("a", "b"):
        export(profile, tmp_path / name, target)
    files = contents(tmp_path / "a")
    assert files == contents(tmp_path / "b")
    for name, content in files.items():
        assert not re.search(rb"@[A-Z0-9_]+@", content), name
        assert str(tmp_path).encode() not in content
    assert differences(profile, tmp_path / "a", target) == []


def test_differences_are_reported(
    profile: tcuq.Profile, synthetic: Callable[..., tcuq.Stream], tmp_path: Path
) -> None:
    """Files of another profile, and generated files that were edited or deleted, are named."""
    export(profile, tmp_path / "a", "c")
    other = quiet_fit(synthetic(2000))
    changes = differences(other, tmp_path / "a", "c")
    assert "src/tcuq_device.c differs" in changes
    assert "main.c differs" not in changes
    export(other, tmp_path / "a", "c")
    assert differences(other, tmp_path / "a", "c") == []
    export(profile, tmp_path / "b", "c")
    (tmp_path / "b/src/tcuq.h").write_text("/* gone */\n")
    (tmp_path / "b/README.md").unlink()
    assert differences(profile, tmp_path / "b", "c") == [
        "README.md is missing",
        "src/tcuq.h differs",
    ]


def test_user_files_are_not_overwritten(profile: tcuq.Profile, tmp_path: Path) -> None:
    """An edited main.c and the user's own files stay; generated files of earlier exports go."""
    export(profile, tmp_path, "c")
    (tmp_path / "main.c").write_text("/* mine */\n")
    (tmp_path / "src/mine.c").write_text("/* mine too */\n")
    export(profile, tmp_path, "arduino")
    assert (tmp_path / "main.c").read_text() == "/* mine */\n"
    assert (tmp_path / "src/mine.c").is_file()
    assert not (tmp_path / "CMakeLists.txt").exists()
    assert differences(profile, tmp_path, "arduino") == []


def test_a_foreign_folder_is_refused(profile: tcuq.Profile, tmp_path: Path) -> None:
    """A folder with other files, or a manifest with paths outside it, is not written to."""
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ExportError, match="must be empty or an earlier export"):
        export(profile, tmp_path, "c")
    with pytest.raises(ExportError, match="is not a folder"):
        export(profile, tmp_path / "thesis.tex", "c")
    for manifest in ('{"files": {"../x": "0"}}', '{"files": {"/etc/x": "0"}}', "[]", "{", "nul"):
        (tmp_path / "tcuq-export.json").write_text(manifest)
        with pytest.raises(ExportError, match=r"outside the folder|is damaged"):
            export(profile, tmp_path, "c")
    assert sorted(contents(tmp_path)) == ["tcuq-export.json", "thesis.tex"]


def test_storage_and_snapshot_are_the_devices(profile: tcuq.Profile, tmp_path: Path) -> None:
    """The sizes in the exported header are the engine's."""
    export(profile, tmp_path, "c")
    text = (tmp_path / "src/tcuq_device.h").read_text("utf-8")
    engine = Monitor(profile)._engine  # noqa: SLF001 - the device's own figure
    assert f"#define TCUQ_DEVICE_STORAGE_BYTES {engine.storage_bytes}u" in text
    assert f"#define TCUQ_DEVICE_SNAPSHOT_BYTES {len(engine.snapshot())}u" in text
    assert f'PROFILE_SHA256 "{profile.sha256}"' in text


def test_vectors_cover_outcomes(profile: tcuq.Profile, test_stream: tcuq.Stream) -> None:
    """Synthetic steps give every outcome, and recorded steps many risks."""
    synthetic = vectors(profile)
    assert set(synthetic.decisions["outcome"].tolist()) == {0, 1, 2}
    assert (synthetic.posteriors.sum(axis=1) == 256).all()
    recorded = vectors(profile, test_stream)
    assert recorded.posteriors.shape == (ROWS, 10)
    assert len(set(recorded.decisions["risk"].tolist())) > ROWS // 2
    assert synthetic.state != recorded.state


def test_feature_codes_are_the_engines_rounding(profile: tcuq.Profile, tmp_path: Path) -> None:
    """The table of a network's int8 features holds what the host quantises them to."""
    scale, zero_point = 0.0213, -128
    export(profile, tmp_path, "c", feature_codes=(scale, zero_point))
    text = (tmp_path / "src/tcuq_device.c").read_text("utf-8")
    table = text.split("tcuq_device_features[256] = {")[1].split("}")[0]
    real = np.resize((np.arange(-128, 128) - zero_point) * scale, (8, 32))
    _, expected = Monitor(profile).quantize(np.full((8, 10), 1 / 10), real)
    assert expected is not None
    assert [int(word) for word in table.replace(",", " ").split()] == expected.ravel().tolist()
    with pytest.raises(ExportError, match=r"zero point of -128\.\.127, got"):
        export(profile, tmp_path, "c", feature_codes=(1.0, 300))


def test_the_header_is_parsed(profile: tcuq.Profile) -> None:
    """Every member of the profile comes from quantize, or is a count or a format."""
    members = structs()["tcuq_profile"]
    assert Member("classes", "uint16_t", "value") in members
    spec = set(quantize(profile))
    others = {m.name for m in members} - spec
    assert {name for name in others if not name.endswith("_count")} == {"format"}
    assert spec <= {m.name for m in members}
    assert number("TCUQ_RECORD_BYTES") <= 100
    with pytest.raises(ExportError, match="must define TCUQ_NOTHING"):
        number("TCUQ_NOTHING")


def test_the_command(
    saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], refusal: Callable[..., str]
) -> None:
    """`tcuq export` with --check before and after and --json; unknown targets list the known."""
    words = ["export", saved, "-o", str(tmp_path / "out"), "--for", "zephyr"]
    assert main([*words, "--check"]) == 1
    assert "is not current: " in capsys.readouterr().err
    assert main(words) == 0
    assert "yours to change: samples/minimal/prj.conf" in capsys.readouterr().out
    assert main([*words, "--check"]) == 0
    assert main([*words, "--json", "--without-telemetry", "--feature-codes", "0.1,-3"]) == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert facts["for"] == "zephyr"
    assert main([*words, "--check"]) == 1
    assert "run the same command without --check" in capsys.readouterr().err
    message = refusal("export", saved, "-o", tmp_path / "none", "--for", "mbed")
    assert "target must be one of c, arduino, zephyr" in message
    assert not (tmp_path / "none").exists()


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
    """The uplink is in the one source, its headers are copied; both go by an export without it."""
    export(profile, tmp_path, target, uplink=True)
    assert listed(tmp_path) == sources(tmp_path)
    text = (tmp_path / "src/tcuq.c").read_text("utf-8")
    assert all(f"/* ---- {path.name} ---- */" in text for path in UPLINK.glob("*.c"))
    assert (tmp_path / "src/tcuq_uplink.h").is_file()
    export(profile, tmp_path, target)
    assert "tcuq_uplink.c" not in (tmp_path / "src/tcuq.c").read_text("utf-8")
    assert not (tmp_path / "src/tcuq_uplink.h").exists()
    with pytest.raises(TcuqError, match="the uplink sends the telemetry record"):
        export(profile, tmp_path, target, uplink=True, telemetry=False)
