# SPDX-License-Identifier: Apache-2.0
"""Fleets of real people against their own past: how epochs are drawn, and the counts of a fleet."""

import numpy as np
import pytest

from tcuq_benchmark.measurements import fleet_changes
from tcuq_benchmark.measurements.fleet_changes import (
    BLOCK,
    FAULTY,
    Session,
    drawn_epochs,
    fleet,
    steps_of,
)


def _sessions(rng: np.random.Generator) -> list[Session]:
    """Return two sessions of five people, with a fault that makes a network unsure."""
    sessions = []
    for person in range(5):
        for half in range(2):
            logits = 6 * np.eye(3)[rng.integers(0, 3, 300)] + rng.normal(size=(300, 3))
            features = rng.normal(size=(300, 4))
            outputs = {"clean": (logits, features), "gain": (0.2 * logits, features)}
            sessions.append(Session(person, half, outputs))
    return sessions


def test_an_epoch_is_drawn_in_blocks_of_a_session() -> None:
    """Steps come from within the session, in runs of consecutive ones."""
    at = steps_of("clean", 300, 100, np.random.default_rng(1))
    assert len(at) == 100
    assert (np.diff(at.reshape(-1, BLOCK), axis=1) == 1).all()
    assert steps_of("repeated", 3, 5, np.random.default_rng(1)).tolist() == [0, 1, 2, 0, 1]


def test_a_fleet_without_a_fault_is_calm_and_faults_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counts are false discoveries, right ones and all; the measurement uses the judge's code."""
    monkeypatch.setattr(fleet_changes, "FAULT_EPOCHS", 12)
    monkeypatch.setattr(fleet_changes, "DEVICES", 600)
    epochs = drawn_epochs(_sessions(np.random.default_rng(2)), 3, short=True)
    assert fleet(epochs, "one", [1]) == (0, 0, 0)
    false, right, total = fleet(epochs, "one", [1], "gain")
    assert right == round(FAULTY * 600)
    assert false + right == total
    assert false < 0.3 * total
