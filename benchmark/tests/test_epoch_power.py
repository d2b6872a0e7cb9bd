# SPDX-License-Identifier: Apache-2.0
"""Epochs of drawn blocks on the device's code, and the short form of the measurement."""

import numpy as np
import pytest

from tcuq.profile.settings import AlarmSettings, Channel
from tcuq.stages.epoch import Epoch
from tcuq_benchmark.measurements.epoch_power import BLOCKS, CALM, DRIFTS, epochs, reference
from tcuq_fleet.simulate.simulator import epoch_evidence

GAINS_Q8 = (-256, 209, 670, 1181)


def test_the_device_stays_just_below_the_float_stage() -> None:
    """The device, the float stage and its vectorised form agree, with drift and without."""
    rng = np.random.default_rng(1)
    passed = rng.choice(4, size=(6, BLOCKS, 2), p=(0.9, 0.08, 0.015, 0.005)).astype(np.uint8)
    passed[3:, -20:, 1] = 2
    evidence_q8 = np.empty(len(passed), np.int16)
    epoch_evidence(GAINS_Q8, BLOCKS, 2, passed, evidence_q8)
    channel = Channel("risk", None, 16, (0.0,) * 3, GAINS_Q8, ((16,) * 3,) * 2, 16)
    settings = AlarmSettings(1 << 20, BLOCKS * 16 + 1, (channel, channel))
    exact = []
    for blocks in passed.tolist():
        epoch = Epoch(settings)
        for row in blocks:
            for index, edges in enumerate(row):
                epoch.bet(index, edges)
            epoch.count(16)
        exact.append(epoch.evidence_bits)
    np.testing.assert_allclose(reference(passed, np.exp2(np.array(GAINS_Q8) / 256)), exact)
    loss = np.array(exact) - evidence_q8 / 256
    assert (loss >= 0).all()
    assert (loss < 0.75).all()
    assert (evidence_q8[3:] > 10 * 256).all()


def test_drawn_blocks_outside_the_edges_are_refused() -> None:
    """A block cannot pass four edges, and an epoch has channels."""
    evidence_q8 = np.empty(1, np.int16)
    with pytest.raises(ValueError, match=r"passed must lie in 0\.\.3, got 4"):
        epoch_evidence(GAINS_Q8, 1, 1, np.array([4], np.uint8), evidence_q8)
    with pytest.raises(ValueError, match=r"channels must lie in 1\.\.5"):
        epoch_evidence(GAINS_Q8, 1, 6, np.zeros(6, np.uint8), evidence_q8)


def test_drift_is_seen_whenever_it_comes_and_calm_is_not() -> None:
    """Each drift reaches ten bits nearly as often as it must; calm epochs never do."""
    rng = np.random.default_rng(2)
    for drift in DRIFTS:
        assert (epochs(drift, 366, 4, 400, rng).device >= 10).mean() > drift.power - 0.05
    assert (epochs(CALM, 366, 4, 400, rng).device < 10).all()
