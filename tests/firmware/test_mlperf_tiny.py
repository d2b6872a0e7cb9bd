# SPDX-License-Identifier: Apache-2.0
"""The four models of MLPerf Tiny, each recorded, fitted and run on an emulated Cortex-M4."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tcuq.tap import open_tap, record
from tests.fixtures.conformance import quiet_fit
from tests.fixtures.firmware.emulator import decide
from tests.fixtures.firmware.scenarios import make_scenario
from tests.fixtures.firmware.toolchain import M4, build

STEPS = 300
# Input shape, what the recorder must be told, and what it must make of the model.
MODELS: dict[str, tuple[tuple[int, ...], dict[str, Any], str]] = {
    "kws_ref_model": ((49, 10, 1), {}, "12 classes"),
    "pretrainedResnet_quant": ((32, 32, 3), {}, "10 classes"),
    "vww_96_int8": ((96, 96, 3), {}, "2 classes"),
    "ad_toycar_int8": ((640,), {"kind": "outputs", "reduce": "reconstruction"}, "1 output"),
}


def slow_noise(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Inputs that change slowly, within the range of the models' int8: no recorded data."""
    rng = np.random.default_rng(0)
    rows = np.full((STEPS, *shape), 0.5, np.float32)
    for step in range(1, STEPS):
        rows[step] = 0.05 + 0.9 * rows[step - 1] + 0.03 * rng.normal(size=shape)
    return rows


@pytest.mark.filterwarnings("ignore:.*experimental_preserve_all_tensors")
@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_mlperf_tiny(name: str, mlperf: Callable[[str], Path], tmp_path: Path) -> None:
    """Its monitor decides on the device as on the host, bit for bit."""
    shape, options, what = MODELS[name]
    stream = record(open_tap(mlperf(name)), slow_noise(shape), **options)
    profile = quiet_fit(stream, alarm=False)
    assert profile.inputs.what == what
    scenario = make_scenario(name, name, profile, [stream], whole=True)
    elf = build(M4, tmp_path, scenario.monitor())
    np.testing.assert_array_equal(decide(M4, elf, scenario.steps), scenario.expected())
