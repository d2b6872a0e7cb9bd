# SPDX-License-Identifier: Apache-2.0
"""The pages for other frameworks: each block compiles, and decides as the host's engine does.

Edge Impulse, TensorFlow Lite Micro and MicroPython stand behind declarations of the same form;
emlearn and the headers of ExecuTorch are their own packages.
"""

import importlib.util
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tcuq
from tcuq.firmware import export
from tcuq.tap import open_tap, record
from tests.fixtures.conformance import quiet_fit
from tests.fixtures.firmware.scenarios import outputs_stream
from tests.fixtures.firmware.toolchain import ROOT, run
from tests.fixtures.pages import blocks

PAGES = "docs/howto/integrations"
VENDOR = ROOT / "tests/firmware/vendor"
WARNINGS = ("-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter")  # of generated code
CODES = (0.0437, -10)  # scale and zero point of the network's features; no two steps tie
MOST_LINES = 60
Rows = NDArray[Any]
Synthetic = Callable[..., tcuq.Stream]


def compiled(page: str, language: str, folder: Path, *includes: Path) -> Path:
    """Compile the page's code, its stand-in and the export in `out` for this machine."""
    (code,) = blocks(f"{PAGES}/{page}.md", language)
    ending = "c" if language == "c" else "cpp"
    (folder / f"page.{ending}").write_text(code, "utf-8")
    paths = [f"-I{path}" for path in (folder / "out/src", VENDOR, VENDOR / page, *includes)]
    run(["gcc", "-std=c99", *WARNINGS, *paths, "-c", *(folder / "out/src").glob("*.c")], cwd=folder)
    compiler = ["gcc", "-std=gnu11"] if language == "c" else ["g++", "-std=c++17"]
    sources = [folder / f"page.{ending}", VENDOR / page / f"main.{ending}"]
    run(
        [*compiler, *WARNINGS, *paths, *sources, *folder.glob("*.o"), "-o", "program", "-lm"],
        cwd=folder,
    )
    return folder / "program"


def decisions(program: Path, rows: Rows) -> Rows:
    """Return risk, reason and alarm of each row of numbers."""
    text = "\n".join(" ".join(repr(value) for value in row) for row in rows.tolist())
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return np.array([line.split() for line in done.stdout.splitlines()], int)


def expected(profile: tcuq.Profile, posteriors: Rows, features: Rows | None = None) -> Rows:
    """Return the same of the host's engine."""
    trace = tcuq.Monitor(profile).run(posteriors, features)
    return np.stack([trace.risk * 16384, trace.reason, trace.alarm], axis=1).astype(int)


@pytest.mark.parametrize("classes", [True, False], ids=["classes", "anomaly"])
def test_edge_impulse(classes: bool, synthetic: Synthetic, tmp_path: Path) -> None:
    """The impulse's shares, or its anomaly score alone."""
    if classes:
        stream = synthetic(3000, classes=3, width=0)
    else:
        stream = tcuq.Stream(outputs=outputs_stream(3000, 1, 1).posteriors.astype(np.float32))
    profile = quiet_fit(stream)
    export(profile, tmp_path / "out", "c")
    rows = stream.posteriors[:300].astype(np.float32)
    program = compiled("edge-impulse", "cpp", tmp_path)
    np.testing.assert_array_equal(decisions(program, rows), expected(profile, rows))


def test_tensorflow_lite_micro(synthetic: Synthetic, tmp_path: Path) -> None:
    """Two int8 outputs: softmax codes and a layer's, with the layer's own scale."""
    stream = synthetic(3000, classes=3, width=8)
    profile = quiet_fit(stream)
    export(profile, tmp_path / "out", "c", feature_codes=CODES)
    scale, zero = CODES
    shares = np.clip(np.rint(stream.posteriors[:300] * 256) - 128, -128, 127)
    layer = np.clip(np.rint(np.asarray(stream.features)[:300] / scale) + zero, -128, 127)
    program = compiled("tflite-micro", "cpp", tmp_path)
    _, features = tcuq.Monitor(profile).quantize(stream.posteriors[:300], (layer - zero) * scale)
    host = expected(profile, (shares + 128).astype(np.uint8), features)
    np.testing.assert_array_equal(decisions(program, np.hstack([shares, layer])), host)


def test_micropython(synthetic: Synthetic, tmp_path: Path) -> None:
    """The module takes the monitor's own bytes."""
    stream = synthetic(3000, classes=3, width=8)
    profile = quiet_fit(stream)
    export(profile, tmp_path / "out", "c")
    program = compiled("micropython", "c", tmp_path)
    posteriors, features = tcuq.Monitor(profile).quantize(stream.posteriors, stream.features)
    assert features is not None
    rows = np.hstack([posteriors, features]).astype(int)
    host = expected(profile, posteriors, features)
    np.testing.assert_array_equal(decisions(program, rows), host)


def test_emlearn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's forest, converted by emlearn; its own C gives the shares."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with warnings.catch_warnings(), np.errstate():  # its import makes NumPy raise at underflow
        warnings.simplefilter("ignore")
        (block,) = blocks(f"{PAGES}/emlearn.md", "python")
        exec(block, names)  # noqa: S102 - our own page
    profile = tcuq.Profile.load("monitor.json")
    export(profile, tmp_path / "out", "c")
    windows = names["windows"][2000:2300]
    program = compiled("emlearn", "c", tmp_path, tmp_path)
    field = record(open_tap(names["converted"], "input"), windows)
    host = expected(profile, field.posteriors, np.asarray(field.features))
    np.testing.assert_array_equal(decisions(program, windows), host)


def test_executorch(synthetic: Synthetic, tmp_path: Path) -> None:
    """The block fits the headers of the package; its module gives a posterior and features."""
    export(quiet_fit(synthetic(3000, classes=3, width=8)), tmp_path / "out", "c")
    (block,) = blocks(f"{PAGES}/executorch.md", "cpp")
    (tmp_path / "page.cpp").write_text(block, "utf-8")
    package = importlib.util.find_spec("executorch")
    assert package is not None
    assert package.submodule_search_locations is not None
    include = Path(package.submodule_search_locations[0]) / "include"
    c10 = include / "executorch/runtime/core/portable_type/c10"
    flags = ["-fsyntax-only", "-DC10_USING_CUSTOM_GENERATED_MACROS"]
    paths = [f"-I{tmp_path / 'out/src'}", f"-isystem{include}", f"-isystem{c10}"]
    run(["g++", "-std=c++17", *WARNINGS, *flags, *paths, "page.cpp"], cwd=tmp_path)
    (block,) = blocks(f"{PAGES}/executorch.md", "python")
    checked = "p, f = Monitored()(torch.zeros(2, 6)); assert (p.shape[1], f.shape[1]) == (3, 8)"
    run([sys.executable, "-c", f"{block}\n{checked}"])


def test_the_reconstruction_error_of_an_autoencoder(tmp_path: Path) -> None:
    """The loop of the page on models without classes compiles before the step it feeds."""
    export(quiet_fit(outputs_stream(3000, 1, 1)), tmp_path / "out", "c")
    (block,) = blocks("docs/howto/outputs.md", "c")
    code = f"""#include "tcuq_device.h"
#define SIZE 640u
void step(const float *input, const float *output, const int8_t *features);
void step(const float *input, const float *output, const int8_t *features)
{{
uint8_t posterior[TCUQ_DEVICE_CLASSES];
tcuq_decision decision;
{block}}}
"""
    (tmp_path / "page.c").write_text(code, "utf-8")
    run(["gcc", "-std=c99", *WARNINGS, f"-I{tmp_path / 'out/src'}", "-c", "page.c"], cwd=tmp_path)


def test_pages_are_short() -> None:
    """No page has more than sixty lines of code."""
    for path in (ROOT / PAGES).glob("*.md"):
        inside, lines = False, 0
        for line in path.read_text("utf-8").splitlines():
            inside ^= line.startswith("```")
            lines += inside and not line.startswith("```")
        assert lines <= MOST_LINES, path.name


def test_reading_a_layer_in_tensorflow_lite_micro(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's Keras model gives its softmax and the layer that it reads."""
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    names: dict[str, Any] = {}
    (block,) = blocks(f"{PAGES}/tflite-micro.md", "python")
    exec(block, names)  # noqa: S102 - our own page
    assert [output.shape[1] for output in names["both"].outputs] == [3, 16]
