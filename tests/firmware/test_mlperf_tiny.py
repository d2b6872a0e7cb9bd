# SPDX-License-Identifier: Apache-2.0
"""The four models of MLPerf Tiny, from `tcuq record` to an emulated Cortex-M4, by this one module.

The anomaly detector hears recorded speech through its own front end: the sounds of toy cars that it
was trained on are not to be had. The other three see noise that changes slowly.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

import tcuq
from tests.conftest import ROOT
from tests.fixtures.conformance import quiet_fit
from tests.fixtures.firmware.emulator import decide
from tests.fixtures.firmware.scenarios import make_scenario
from tests.fixtures.firmware.toolchain import M4, build

Inputs = NDArray[np.float32]
STEPS = 300
FRAME, HOP, MEL_BINS, FRAMES = 1024, 512, 128, 5  # at 16 kHz, as the detector was trained
RECONSTRUCTION = ("--kind", "outputs", "--reduce", "reconstruction")
# Input shape, or None for recorded audio; what `tcuq record` is told; what it makes of the model.
MODELS: dict[str, tuple[tuple[int, ...] | None, Sequence[str], str]] = {
    "kws_ref_model": ((49, 10, 1), (), "12 classes"),
    "pretrainedResnet_quant": ((32, 32, 3), (), "10 classes"),
    "vww_96_int8": ((96, 96, 3), (), "2 classes"),
    "ad_toycar_int8": (None, RECONSTRUCTION, "1 output"),
}


def slow_noise(shape: tuple[int, ...]) -> Inputs:
    """Inputs that change slowly, within the range of the models' int8."""
    rng = np.random.default_rng(0)
    rows = np.full((STEPS, *shape), 0.5, np.float32)
    for step in range(1, STEPS):
        rows[step] = 0.05 + 0.9 * rows[step - 1] + 0.03 * rng.normal(size=shape)
    return rows


def recorded_audio() -> Inputs:
    """Five frames of 128 log mel energies a step, of spoken digits one after another."""
    data = ROOT / os.environ.get("TCUQ_DATA", "../shared/data")
    sound, _ = soundfile.read(data / "audiomnist/0.flac", dtype="float32")
    frames = np.lib.stride_tricks.sliding_window_view(sound, FRAME)[::HOP][: STEPS + FRAMES - 1]
    power = np.abs(np.fft.rfft(frames * np.hanning(FRAME))) ** 2
    mels = 1127 * np.log1p(np.linspace(0, 8000, FRAME // 2 + 1) / 700)[:, None]
    edges = np.linspace(0, mels[-1, 0], MEL_BINS + 2)
    triangles = np.minimum(mels - edges[:-2], edges[2:] - mels) / np.diff(edges)[0]
    logs = 10 * np.log10(power @ np.maximum(0, triangles) + 1e-8)
    views = np.lib.stride_tricks.sliding_window_view(logs, FRAMES, axis=0)
    return np.asarray(views.transpose(0, 2, 1).reshape(STEPS, -1), np.float32)


@pytest.mark.filterwarnings("ignore:.*experimental_preserve_all_tensors")
@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_mlperf_tiny(
    name: str,
    mlperf: Callable[[str], Path],
    output_of: Callable[..., str],
    tmp_path: Path,
    runtime_of_m4: Sequence[Path],
) -> None:
    """Its monitor decides on the device as on the host, bit for bit."""
    shape, options, what = MODELS[name]
    inputs, recorded = tmp_path / "inputs.npz", tmp_path / "stream.npz"
    np.savez(inputs, inputs=recorded_audio() if shape is None else slow_noise(shape))
    output_of("record", mlperf(name), inputs, "-o", recorded, *options)
    stream = tcuq.Stream.load(recorded)
    profile = quiet_fit(stream, alarm=False)
    assert profile.inputs.what == what
    scenario = make_scenario(name, name, profile, [stream], whole=True)
    elf = build(M4, tmp_path, scenario.monitor(), runtime=runtime_of_m4)
    np.testing.assert_array_equal(decide(M4, elf, scenario.steps), scenario.expected())
