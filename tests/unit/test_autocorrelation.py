# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from numpy.typing import NDArray

from tcuq.autocorrelation import autocorrelation_time


def autoregressive(memory: float, steps: int, seed: int) -> NDArray[np.float64]:
    """A stationary AR(1) series: x' = memory · x + noise."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=steps)
    series = np.empty(steps)
    series[0] = noise[0] / np.sqrt(1 - memory**2)
    for step in range(1, steps):
        series[step] = memory * series[step - 1] + noise[step]
    return series


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9, 0.97])
def test_autoregressive_time_is_known(memory: float) -> None:
    """The time of an AR(1) series is (1 + r) / (1 - r)."""
    time = autocorrelation_time([autoregressive(memory, 100_000, seed=1)])
    assert time == pytest.approx((1 + memory) / (1 - memory), rel=0.12)


def test_recordings_are_pooled() -> None:
    """Many short recordings give the same time as one long one."""
    parts = [autoregressive(0.8, 500, seed) for seed in range(200)]
    assert autocorrelation_time(parts) == pytest.approx(9, rel=0.12)


def test_neither_scale_nor_offset_matters() -> None:
    """The time does not depend on the signal's units."""
    series = autoregressive(0.7, 5000, seed=0)
    expected = autocorrelation_time([series])
    assert autocorrelation_time([series * 1e-3 + 5]) == pytest.approx(expected)


@pytest.mark.parametrize("value", [0.0, 1.0, -7.25, 1e6, 0.1])
def test_constant_signal_has_time_1(value: float) -> None:
    """A signal that never varied has the time 1."""
    assert autocorrelation_time([np.full(1000, value), np.full(10, value)]) == 1.0


def test_alternating_is_not_better_than_independent() -> None:
    """The time is at least 1, that of independent steps."""
    assert autocorrelation_time([np.tile([0.0, 1.0], 500)]) == 1.0


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_few_steps_are_enough(steps: int) -> None:
    """Even a single step has a time, at least 1 and at most its length."""
    assert 1.0 <= autocorrelation_time([np.arange(float(steps))]) <= max(1, steps)


def test_recording_without_values_is_ignored() -> None:
    """A recording too short to give any value changes nothing."""
    series = autoregressive(0.5, 2000, seed=0)
    assert autocorrelation_time([np.empty(0), series]) == autocorrelation_time([series])
