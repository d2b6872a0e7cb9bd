# SPDX-License-Identifier: Apache-2.0
"""Input health that taps compute from the model's own input while they record."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

import tcuq
from tcuq.cli import main
from tcuq.errors import InputError
from tcuq.tap import InputHealth, open_tap, record
from tests.fixtures.onnx_models import save_onnx

Array = NDArray[Any]
STEPS = 70  # more than a batch
GROUPS = ((0, 1, 2), (3, 4, 5))
PLAN = InputHealth(GROUPS, lsb=1 / 256, names=("accelerometer", "gyroscope"))


@pytest.fixture(scope="module")
def windows() -> Array:
    """Windows of 16 samples of six axes."""
    array: Array = np.random.default_rng(5).normal(size=(STEPS, 16, 6)).astype(np.float32)
    return array


def expected(windows: Array) -> Array:
    """What tcuq.health gives for all steps at once."""
    return tcuq.health(windows, GROUPS, lsb=1 / 256).values


def write_onnx(path: Path) -> Path:
    """Write a dense layer and a softmax over windows of 16 samples of six axes."""
    weights = np.random.default_rng(0).normal(size=(96, 3)).astype(np.float32)
    nodes = [("Flatten", "x", "flat"), ("MatMul", "flat w", "logits"), ("Softmax", "logits", "p")]
    return save_onnx(path, nodes, {"x": ["n", 16, 6]}, ["n", 3], {"w": weights})


def test_onnx(tmp_path: Path, windows: Array) -> None:
    """Statistics are those of all windows at once, or a given Health; real numbers need a step."""
    stream = record(open_tap(write_onnx(tmp_path / "m.onnx")), windows, health=PLAN)
    assert stream.health is not None
    np.testing.assert_array_equal(stream.health, expected(windows))
    assert stream.health_names[3] == "gyroscope level"
    audio = tcuq.health(np.random.default_rng(0).integers(-99, 99, (STEPS, 400)))
    stream = record(open_tap(write_onnx(tmp_path / "m.onnx")), windows, health=audio)
    np.testing.assert_array_equal(stream.health, audio.values)
    tap = open_tap(write_onnx(tmp_path / "m.onnx"))
    with pytest.raises(InputError, match="lsb must be given, since inputs are real numbers"):
        record(tap, windows, health=InputHealth())


# Keras' own, on its torch backend with NumPy 2.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_keras(windows: Array) -> None:
    """A Keras model's windows are (steps, samples, channels)."""
    layers = [keras.Input((16, 6)), keras.layers.Flatten(), keras.layers.Dense(3, "softmax")]
    stream = record(open_tap(keras.Sequential(layers)), windows, health=PLAN)
    np.testing.assert_array_equal(stream.health, expected(windows))


def test_torch_takes_channels_first(windows: Array) -> None:
    """A convolution of PyTorch takes (steps, channels, samples), from a loader as well."""
    model = torch.nn.Sequential(torch.nn.Conv1d(6, 3, 16), torch.nn.Flatten())
    plan = InputHealth(GROUPS, lsb=1 / 256, channels_first=True)
    moved = torch.tensor(np.moveaxis(windows, 2, 1).copy())
    for inputs in (moved, iter([moved[:30], moved[30:]])):
        stream = record(open_tap(model, kind="logits"), inputs, health=plan)
        np.testing.assert_array_equal(stream.health, expected(windows))


def test_sklearn(windows: Array) -> None:
    """Rows of an array are the samples of one channel."""
    rows = windows[:, :, 0]
    model = LogisticRegression().fit(rows, np.arange(STEPS) % 2)
    stream = record(open_tap(model), rows, health=InputHealth(lsb=1 / 256))
    np.testing.assert_array_equal(stream.health, tcuq.health(rows, lsb=1 / 256).values)
    assert stream.health_names[-1] == "input spread"


def test_litert_knows_the_step(mlperf: Callable[[str], Path]) -> None:
    """A quantised model's scale is the sensor's step, and its zero point is no level."""
    tap = open_tap(mlperf("kws_ref_model"))
    scale, zero_point = tap.input_quantisation  # type: ignore[attr-defined]
    codes = np.random.default_rng(7).integers(-128, 128, (5, 49, 10, 1)).astype(np.int8)
    real = (codes.astype(np.float64) - zero_point) * scale
    units = codes.astype(np.int16) - zero_point
    for inputs in (codes, real):
        stream = record(tap, inputs, health=InputHealth())
        np.testing.assert_array_equal(stream.health, tcuq.health(units).values)


def test_one_quiet_step_is_no_wrong_lsb(windows: Array) -> None:
    """A window that rounds to 0, or saturates, is a finding of the monitor, not an error."""
    rows = windows[:, :, 0].copy()
    rows[3], rows[4] = 0.001, 1e6
    model = LogisticRegression().fit(windows[:, :, 0], np.arange(STEPS) % 2)
    tap = open_tap(model)
    tap.batch = 1  # type: ignore[misc]
    stream = record(tap, rows, health=InputHealth(lsb=1 / 256))
    assert np.asarray(stream.health)[3:5, 0].tolist() == [0, pytest.approx(15, abs=0.01)]
    with pytest.raises(InputError, match="lsb must be the sensor's smallest step"):
        record(tap, rows[3:4], health=InputHealth(lsb=1 / 256))


def test_inputs_of_several_names(windows: Array) -> None:
    """Of a model with several inputs, one must be named."""

    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = torch.nn.Linear(96, 3)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.head(x.flatten(1)) + y
            return out

    inputs = {"x": windows, "y": np.zeros((STEPS, 3), np.float32)}
    tap = open_tap(Two(), kind="logits")
    stream = record(tap, inputs, health=InputHealth(GROUPS, lsb=1 / 256, input="x"))
    np.testing.assert_array_equal(stream.health, expected(windows))
    with pytest.raises(InputError, match="input must be named, one of x, y"):
        record(tap, inputs, health=InputHealth(lsb=1.0))


def test_command_line(tmp_path: Path, windows: Array, capsys: pytest.CaptureFixture[str]) -> None:
    """`tcuq record --health` writes what Python does, from inputs or from raw windows."""
    model, out = write_onnx(tmp_path / "m.onnx"), tmp_path / "s.npz"
    np.savez(tmp_path / "d.npz", inputs=windows)
    options = ["--health", "--health-lsb", "0.00390625", "--health-groups", "0,1,2:3,4,5"]
    names = ["--health-names", "accelerometer,gyroscope"]
    base = ["record", str(model), str(tmp_path / "d.npz"), "-o", str(out), "--json"]
    assert main([*base, *options, *names]) == 0
    assert json.loads(capsys.readouterr().out)["health"].startswith("accelerometer level, ")
    stream = tcuq.Stream.load(out)
    np.testing.assert_array_equal(stream.health, expected(windows))
    raw = np.random.default_rng(0).integers(-99, 99, (STEPS, 400)).astype(np.int16)
    np.savez(tmp_path / "d.npz", inputs=windows, windows=raw)
    assert main([*base, "--health"]) == 0
    np.testing.assert_array_equal(tcuq.Stream.load(out).health, tcuq.health(raw).values)
    assert main(base) == 0
    assert tcuq.Stream.load(out).health is None
    assert main([*base, "--health-lsb", "1"]) == 1
    assert "--health-... options must come with --health" in capsys.readouterr().err
