# SPDX-License-Identifier: Apache-2.0
"""Models with one output, such as a wake word's sigmoid, through fit and both monitors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.errors import InputError
from tcuq.stream import Kind

MONITORS = [tcuq.Monitor, tcuq.Monitor]
SCALARS: list[Callable[[float], Any]] = [
    float,
    np.float32,
    np.array,
    lambda p: [p],
    lambda p: np.array([p]),
]


def fitted(kind: Kind, synthetic: Callable[..., tcuq.Stream]) -> tuple[tcuq.Profile, Any]:
    """A profile of two classes from one column, and the column."""
    logits = np.diff(synthetic(classes=2, kind="logits").posteriors, axis=1).ravel()
    column = logits if kind == "logits" else 1 / (1 + np.exp(-logits))
    return tcuq.fit(tcuq.Stream(column, kind=kind)), column


@pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")
@pytest.mark.parametrize("kind", ["probabilities", "logits"])
@pytest.mark.parametrize("monitor", MONITORS)
def test_one_column_runs_as_two(
    monitor: type[tcuq.Monitor], kind: Kind, synthetic: Callable[..., tcuq.Stream]
) -> None:
    """A column, a step alone and the stacked rows all give the same decisions."""
    profile, column = fitted(kind, synthetic)
    rows = tcuq.Stream(column, kind=kind).posteriors
    expected = monitor(profile).run(rows)
    for given in (column, column[:, None], column.tolist()):
        trace = monitor(profile).run(given)
        np.testing.assert_array_equal(trace.risk, expected.risk)
        np.testing.assert_array_equal(trace.outcome, expected.outcome)
    for scalar in SCALARS:
        one = monitor(profile)
        assert [one.step(scalar(p)).risk for p in column[:9].tolist()] == pytest.approx(
            expected.risk[:9].tolist(), abs=1e-3
        )


@pytest.mark.parametrize("monitor", MONITORS)
def test_one_column_is_no_step_of_seven_classes(
    monitor: type[tcuq.Monitor], profile: tcuq.Profile
) -> None:
    """Where the profile has other than two classes, one column is refused as before."""
    with pytest.raises(InputError, match=r"the shape \(steps, classes\), got \(7,\)"):
        monitor(profile).run(np.zeros(7), np.zeros((1, 32)))
    with pytest.raises(InputError, match="2 to 1000 classes, got 1"):
        monitor(profile).step(0.5, np.zeros(32))


@pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")
@pytest.mark.parametrize("monitor", MONITORS)
def test_regression_output_is_refused(
    monitor: type[tcuq.Monitor], synthetic: Callable[..., tcuq.Stream]
) -> None:
    """A value outside 0..1 is refused in a step and in a run."""
    profile, _ = fitted("probabilities", synthetic)
    with pytest.raises(InputError, match="regression"):
        monitor(profile).run([0.5, 21.5])
    with pytest.raises(InputError, match="regression"):
        monitor(profile).step(21.5)
