# SPDX-License-Identifier: Apache-2.0
"""The bound on the accepted error is broken at most as often as stated, by Monte Carlo."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tcuq.calibrate.acceptance import choose_threshold
from tcuq.calibrate.independence import LabelledSteps
from tcuq.errors import FitError

LEVELS = 1 << 14
CONFIDENCE = 0.8  # low, so that few repetitions show a bound that breaks too often
REPETITIONS = 60
FEW_EXAMPLES = settings(max_examples=3, deadline=None, derandomize=True)


def most_broken() -> int:
    """Return a count that an exact bound passes once in 10,000 runs."""
    return int(binom.ppf(0.9999, REPETITIONS, 1 - CONFIDENCE))


@FEW_EXAMPLES
@given(
    worst=st.floats(0.05, 0.9),
    power=st.floats(0.3, 6.0),
    accepted_error=st.sampled_from([0.02, 0.05, 0.1]),
    steps=st.integers(150, 300),
    seed=st.integers(0, 1000),
)
def test_independent_steps(
    worst: float, power: float, accepted_error: float, steps: int, seed: int
) -> None:
    """With independent steps the true accepted error is above the promise in 20 % at most."""
    broken = 0
    for repetition in range(REPETITIONS):
        rng = np.random.default_rng([seed, repetition])
        risk = rng.random(steps)
        wrong = rng.random(steps) < worst * risk**power
        levels = (risk * LEVELS).astype(np.int64)
        every = np.arange(steps)
        none = np.zeros(steps, np.int64)
        labelled = LabelledSteps(wrong, rng.integers(0, 5, steps), risk, none, every, levels)
        try:
            chosen = choose_threshold(labelled, "steps", accepted_error, CONFIDENCE)
        except FitError:
            continue
        # The mean of worst · risk^power over accepted risks, which are uniform.
        broken += worst * (chosen.level / LEVELS) ** power / (power + 1) > accepted_error
    assert broken <= most_broken()


@FEW_EXAMPLES
@given(
    worst=st.floats(0.05, 0.3),
    bad=st.floats(0.02, 0.5),
    accepted_error=st.sampled_from([0.05, 0.1, 0.2]),
    recordings=st.integers(40, 80),
    seed=st.integers(0, 1000),
)
def test_independent_recordings(
    worst: float, bad: float, accepted_error: float, recordings: int, seed: int
) -> None:
    """With independent recordings it is too, although some recordings fail altogether."""
    length, broken = 10, 0
    for repetition in range(REPETITIONS):
        rng = np.random.default_rng([seed, repetition])
        risk = rng.random((recordings, length))
        fails = rng.random((recordings, 1)) < bad * accepted_error
        wrong = (rng.random((recordings, length)) < worst * risk) | fails
        recording = np.repeat(np.arange(recordings), length)
        levels = (risk * LEVELS).astype(np.int64).ravel()
        every = np.arange(recordings * length)
        label = np.zeros(recordings * length, np.int64)
        labelled = LabelledSteps(wrong.ravel(), label, risk.ravel(), recording, every, levels)
        try:
            chosen = choose_threshold(labelled, "recordings", accepted_error, CONFIDENCE)
        except FitError:
            continue
        share = bad * accepted_error
        true = share + (1 - share) * worst * chosen.level / LEVELS / 2
        broken += true > accepted_error
    assert broken <= most_broken()


@FEW_EXAMPLES
@given(
    dwell=st.sampled_from([20, 100]),
    fixed=st.booleans(),
    within=st.sampled_from([0.5, 1.0]),
    seed=st.integers(0, 1000),
)
def test_visits_that_are_wrong_as_a_whole(
    dwell: int, fixed: bool, within: float, seed: int
) -> None:
    """With labels that dwell, and errors that belong to visits, it is too."""
    accepted_error, visits, broken = 0.1, 60, 0
    for repetition in range(REPETITIONS):
        rng = np.random.default_rng([seed, repetition])
        lengths = np.full(visits, dwell) if fixed else rng.geometric(1 / dwell, visits)
        label = np.repeat(rng.integers(0, 10, visits), lengths)
        steps = len(label)
        wrong = np.repeat(rng.random(visits) < 1.1 * accepted_error / within, lengths)
        wrong &= rng.random(steps) < within
        risk = rng.random(steps)
        levels = (risk * LEVELS).astype(np.int64)
        none, every = np.zeros(steps, np.int64), np.arange(steps)
        try:
            choose_threshold(
                LabelledSteps(wrong, label, risk, none, every, levels),
                "steps",
                accepted_error,
                CONFIDENCE,
            )
        except FitError:
            continue
        broken += 1
    assert broken <= most_broken()
