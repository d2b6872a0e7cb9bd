# SPDX-License-Identifier: Apache-2.0
"""Several models in one firmware, models with one output, and headers that C++ takes."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tcuq
from tcuq.errors import ExportError
from tcuq.firmware import TARGETS, differences, export
from tcuq.monitor import Monitor
from tests.fixtures.conformance import quiet_fit

SOURCES = Path(tcuq.__file__).parent
INTERNAL = re.compile(
    r"tcuq_(acsl.*|blob_internal|bytes|copy|internal|products|simd|switch|uplink_internal)\.h"
)
HEADERS = sorted(
    path
    for folder in ("runtime", "uplink", "ota")
    for path in (SOURCES / folder).glob("*.h")
    if not INTERNAL.fullmatch(path.name)
)
BEHIND = {"tcuq_verify_ed25519.h": "#include <sodium.h>\n"}  # what a header says it comes behind
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
PROGRAM = """
#include "tcuq_kws.h"
#include "tcuq_gesture.h"

int main()
{
    static const uint8_t posterior[TCUQ_KWS_CLASSES + TCUQ_GESTURE_CLASSES] = {255u};
    static const int8_t features[TCUQ_KWS_FEATURE_BYTES] = {0};
    tcuq_decision decision;
    if ((tcuq_kws_selftest() != 0) || (tcuq_gesture_selftest() != 0)) {
        return 1;
    }
    tcuq_step(&tcuq_kws, posterior, features, NULL, &decision);
    tcuq_step(&tcuq_gesture, posterior, NULL, NULL, &decision);
    return (tcuq_kws_profile.hash == tcuq_gesture_profile.hash) ? 2 : 0;
}
"""
MAIN = """
#include <stdio.h>
#include "tcuq_device.h"
int main(void)
{
    for (int code = -128; code < 128; code++) {
        uint8_t posterior[2];
        tcuq_device_sigmoid(tcuq_device_posterior_of((int8_t)code), posterior);
        printf("%d %d\\n", (int)posterior[0], (int)posterior[1]);
    }
    return 0;
}
"""
FLAGS = ("-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror")


@pytest.fixture(scope="module")
def narrow(synthetic: Callable[..., tcuq.Stream]) -> tcuq.Profile:
    """A profile of two classes without features, which needs fewer parts of the runtime."""
    return quiet_fit(synthetic(classes=2, width=0))


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_no_extern_c(compiler: str, tmp_path: Path) -> None:
    """Each public header compiles alone as C++ without a warning; its functions have C names."""
    assert {"tcuq.h", "tcuq_health.h", "tcuq_uplink.h"} <= {path.name for path in HEADERS}
    for header in HEADERS:
        text = header.read_text("utf-8")
        prototypes = re.sub(r"static inline.*?\n}\n", "", text, flags=re.DOTALL)
        assert ('extern "C" {' in text) == (");\n" in prototypes), f'{header.name} needs extern "C"'
        program = tmp_path / f"{header.stem}.cpp"
        before = BEHIND.get(header.name, "")
        program.write_text(f'{before}#include "{header.name}"\nint main() {{ return 0; }}\n')
        folders = [f"-I{SOURCES / name}" for name in ("runtime", "uplink", "ota")]
        subprocess.run([compiler, *STRICT, *folders, "-fsyntax-only", program], check=True)


@pytest.mark.parametrize("compiler", [("gcc", "-std=c99"), ("g++", "-x", "c++")])
def test_symbols_of_two_profiles_collide(
    compiler: tuple[str, ...], profile: tcuq.Profile, narrow: tcuq.Profile, tmp_path: Path
) -> None:
    """Two models exported into one folder link into one program, run and pass their self-tests."""
    export(narrow, tmp_path, "c", name="gesture")
    export(profile, tmp_path, "c", name="kws")
    (tmp_path / "both.c").write_text(PROGRAM.replace("main()", "main(void)"))
    build = tmp_path / "build"
    build.mkdir()
    sources = sorted((tmp_path / "src").glob("*.c"))
    flags = (*STRICT, f"-I{tmp_path / 'src'}", "-c")
    subprocess.run(["gcc", "-std=c99", *flags, *sources], cwd=build, check=True)
    subprocess.run([*compiler, *flags, tmp_path / "both.c"], cwd=build, check=True)
    program = tmp_path / "both"
    subprocess.run([compiler[0], *build.glob("*.o"), "-o", program], check=True)
    assert subprocess.run([program], check=False).returncode == 0


@pytest.mark.parametrize("target", list(TARGETS))
def test_models_of_one_folder_keep_each_other(
    target: str, profile: tcuq.Profile, narrow: tcuq.Profile, tmp_path: Path
) -> None:
    """Each export leaves the other model's files, and the runtime has the parts of both."""
    export(profile, tmp_path, target, name="kws", uplink=True)
    export(narrow, tmp_path, target, name="gesture")
    assert (tmp_path / "src/tcuq_kws_selftest.c").is_file()
    assert (tmp_path / "README-kws.md").is_file()
    if TARGETS[target].with_runtime:
        assert (tmp_path / "src/tcuq_uplink.h").is_file()
        assert "TCUQ_WITH_NOVELTY 1" in (tmp_path / "src/tcuq.h").read_text()
    assert differences(narrow, tmp_path, target, name="gesture") == []
    assert "src/tcuq_gesture.h differs" in differences(profile, tmp_path, target, name="gesture")
    assert not list(tmp_path.rglob("*tcuq_device*"))


def test_an_export_of_an_earlier_version_is_updated(profile: tcuq.Profile, tmp_path: Path) -> None:
    """A folder whose manifest names no models, as before there were any, is updated."""
    export(profile, tmp_path, "c")
    manifest = tmp_path / "tcuq-export.json"
    manifest.write_text(manifest.read_text().replace('"models"', '"profile"'))
    export(profile, tmp_path, "c")
    assert differences(profile, tmp_path, "c") == []


@pytest.mark.parametrize("name", ["score", "step", "health", "uplink", "monitor"])
def test_a_name_of_the_runtime_is_refused(name: str, profile: tcuq.Profile, tmp_path: Path) -> None:
    """A name whose symbols or files the runtime has is refused, and nothing is written."""
    with pytest.raises(ExportError, match=rf"named '{name}': the runtime has (tcuq|TCUQ)_"):
        export(profile, tmp_path / "out", "c", name=name)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["", "Kws", "9a", "a-b", "a/b", "x" * 25])
def test_a_name_that_is_none_in_c_is_refused(
    name: str, saved: str, tmp_path: Path, refusal: Callable[..., str]
) -> None:
    """The command states the rule and the name."""
    message = refusal("export", saved, "-o", tmp_path / "out", "--name", name)
    assert f"underscores, got {name!r}" in message


def test_models_with_and_without_telemetry_do_not_mix(
    profile: tcuq.Profile, narrow: tcuq.Profile, tmp_path: Path
) -> None:
    """One runtime counts for all models or for none."""
    export(profile, tmp_path, "c", name="kws", telemetry=False)
    with pytest.raises(ExportError, match="'kws' was exported without it"):
        export(narrow, tmp_path, "c", name="gesture")


@pytest.mark.parametrize("compiler", [("gcc", "-std=c99"), ("g++", "-xc++")])
def test_every_byte_of_a_sigmoid(
    compiler: tuple[str, str], narrow: tcuq.Profile, tmp_path: Path
) -> None:
    """All 256 outputs become round(256 · (1 - p)) and round(256 · p), at most 255."""
    export(narrow, tmp_path, "c")
    (tmp_path / "sigmoid.c").write_text(MAIN)
    program = tmp_path / "sigmoid"
    command = [*compiler, *FLAGS, "-Isrc", "sigmoid.c", "-o", str(program)]
    subprocess.run(command, cwd=tmp_path, check=True)
    text = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    rows = np.array([line.split() for line in text.splitlines()], int)
    p = np.arange(256) / 256
    expected = np.minimum(np.rint(256 * np.stack([1 - p, p], axis=1)), 255)
    np.testing.assert_array_equal(rows, expected)
    monitor = Monitor(narrow)
    for posteriors in (p, p[:, None], np.stack([1 - p, p], axis=1)):
        np.testing.assert_array_equal(monitor.quantize(posteriors)[0], expected)
    for codes in (np.arange(256, dtype=np.uint8), np.arange(256, dtype=np.uint8)[:, None]):
        np.testing.assert_array_equal(monitor.quantize(codes)[0], expected)


def test_helper_is_only_for_two_classes(profile: tcuq.Profile, tmp_path: Path) -> None:
    """With seven classes a call to it does not compile."""
    export(profile, tmp_path, "c")
    (tmp_path / "sigmoid.c").write_text(MAIN)
    command = ["gcc", "-std=c99", "-Werror", "-Isrc", "-fsyntax-only", "sigmoid.c"]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "tcuq_device_sigmoid" in refused.stderr
