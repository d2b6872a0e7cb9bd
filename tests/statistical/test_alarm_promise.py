# SPDX-License-Identifier: Apache-2.0
"""The alarm's guarantee: at most 2^-h false alarms per step, where its assumption holds."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tcuq.calibrate.bets import fit_channel
from tcuq.profile.settings import AlarmSettings
from tcuq.stages.alarm import Alarm
from tcuq.stages.columns import SignalColumns
from tests.fixtures.effort import SHORT

H = 12


def autoregressive(steps: int, time: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a stationary AR(1) stream with this integrated autocorrelation time."""
    keep = np.exp(-2 / time) if time > 1 else 0.0
    shocks = rng.normal(size=steps) * np.sqrt(1 - keep**2)
    values = np.empty(steps)
    value = rng.normal()
    for step in range(steps):
        value = keep * value + shocks[step]
        values[step] = value
    return values


def columns(values: NDArray[np.float64]) -> SignalColumns:
    """Return all signals with these values."""
    columns: dict[str, Any] = {field.name: values for field in fields(SignalColumns)}
    columns |= {"label": np.zeros(len(values), np.int32), "health": None}
    return SignalColumns(**columns | {"whole_past": np.ones(len(values), np.bool_)})


@pytest.mark.parametrize("time", [1.0, 8.0, 30.0])
@pytest.mark.parametrize("signal", ["novelty", "divergence"])
def test_false_alarms_over_many_calibrations(signal: str, time: float) -> None:
    """Over fresh calibrations of autocorrelated streams the total stays within n · 2^-h."""
    rng = np.random.default_rng(7)
    calibrations, steps = (8, 20_000) if SHORT else (40, 50_000)
    alarms = 0
    for _ in range(calibrations):
        fitted = fit_channel(
            signal,  # type: ignore[arg-type]
            [autoregressive(6000, time, rng)],
            channels=1,
            block_factor=1,
            distinct_share=1.0,
        )
        alarm = Alarm(AlarmSettings(1 << H, 1 << 16, (fitted.channel,)))
        values = autoregressive(steps, time, rng)
        alarms += int((alarm.run(columns(values), values)[0] > 0).sum())
    assert alarms <= calibrations * steps / 2**H


def test_epoch_evidence_is_an_e_value() -> None:
    """Markov's bound holds for the epoch's evidence: P(e >= 2^b) <= 2^-b, over fresh epochs."""
    rng = np.random.default_rng(3)
    fitted = fit_channel(
        "novelty", [rng.normal(size=20_000)], channels=1, block_factor=1, distinct_share=1.0
    )
    alarm = Alarm(AlarmSettings(1 << 20, 256, (fitted.channel,)))
    epochs = 400 if SHORT else 4000
    evidence = []
    for _ in range(epochs):
        values = rng.normal(size=256)
        alarm.run(columns(values), values)
        evidence.append(alarm.epoch.closed_bits)
    for bits in (1, 2, 4):
        share = np.mean(np.array(evidence) >= bits)
        assert share <= 2.0**-bits + 3 * np.sqrt(2.0**-bits / epochs)
