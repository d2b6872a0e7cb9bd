# SPDX-License-Identifier: Apache-2.0
"""The modules of tuning: grid, split, limits and front."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tcuq
from tcuq.errors import FitError, InputError
from tcuq.profile.settings import MAX_STEPS_PER_FALSE_ALARM
from tcuq.tune import Grid, Limits, Trial
from tcuq.tune.front import FEWEST, Objective, within_limits
from tcuq.tune.trial import training_part, unshifted, validation_part
from tests.fixtures.healthy_streams import healthy_stream

Make = Callable[..., tcuq.Stream]


def test_labels_decide_the_grid() -> None:
    """Without labels score, alpha and budget are not tuned, unless values are given."""
    free = Grid().candidates(labelled=False, steps_per_false_alarm=1 << 20)
    assert {(c["score"], c["alpha"], c["budget"]) for c in free} == {("anchored", 0.1, 0.15)}
    requested = Grid(alpha=(0.02, 0.3)).candidates(labelled=False, steps_per_false_alarm=1 << 20)
    assert {c["alpha"] for c in requested} == {0.02, 0.3}
    assert {
        c.get("mix") for c in Grid().candidates(labelled=True, steps_per_false_alarm=1 << 20)
    } == {None, 0.5, 0.7, 0.9}
    with pytest.raises(InputError, match=r"alpha must lie in 1.52588e-05\.\.0\.999985, got 2"):
        Grid(alpha=(2.0,)).candidates(labelled=True, steps_per_false_alarm=1 << 20)


def test_the_parts_are_in_order_and_apart(synthetic: Make) -> None:
    """The validation part begins a gap after the training part ends; no step is in both."""
    stream = synthetic(steps=2000, starts=[0, 700, 1900])
    training, validation = training_part(stream), validation_part(stream, 64)
    assert (len(training), len(validation)) == (1200, 2000 - 1200 - 64)
    assert np.array_equal(training.posteriors, stream.posteriors[:1200])
    assert np.array_equal(validation.posteriors, stream.posteriors[1264:])
    assert validation.starts.tolist() == [0, 1900 - 1264]


def test_a_stream_too_short_is_refused(synthetic: Make) -> None:
    """Both parts hold enough unshifted steps, or the error names the part that does not."""
    with pytest.raises(FitError, match="the training part must hold at least 256 steps"):
        training_part(synthetic(steps=400))
    with pytest.raises(FitError, match="the validation part must hold at least 256 steps"):
        validation_part(synthetic(steps=600), 16)
    with pytest.raises(FitError, match="leaves none of the last 240 steps for validation"):
        validation_part(synthetic(steps=600), 256)
    late = np.arange(2000) > 1300
    with pytest.raises(FitError, match="not shifted, got 37"):
        validation_part(synthetic(steps=2000, shifted=late), 64)


def test_shifted_steps_are_left_out(synthetic: Make) -> None:
    """Shifted steps are removed, and history does not reach across the gap."""
    shifted = np.zeros(600, np.bool_)
    shifted[100:150] = shifted[300:] = True
    stream = synthetic(shifted=shifted, starts=[0, 50])
    rest = unshifted(stream)
    assert np.array_equal(rest.posteriors, stream.posteriors[~shifted])
    assert rest.starts.tolist() == [0, 50, 100]
    assert unshifted(rest) is rest


def test_health_is_kept_without_shifted_steps() -> None:
    """Input health stays beside the steps that are left, under its names."""
    stream = healthy_stream(600, seed=2, rough_from=400)
    rest = unshifted(stream)
    assert stream.health is not None
    assert rest.health is not None
    assert np.array_equal(rest.health, stream.health[:400])
    assert rest.health_names == stream.health_names


@given(
    st.lists(
        st.tuples(*[st.integers(0, 3)] * 4, st.sampled_from([1.0, 2.0, math.inf])), min_size=1
    ),
    st.booleans(),
)
def test_front_is_not_dominated(
    rows: list[tuple[int, int, int, int, float]], labelled: bool
) -> None:
    """No trial of the front is dominated, each other trial is dominated or equal; best first."""
    trials = [
        Trial({}, ram=a, flash=b, wrong_by_block=(c,), deviation=d, delay=delay)
        for a, b, c, d, delay in rows
    ]
    objective = Objective(labelled, price=0.2)
    measures = {t: objective.measures(trial) for t, trial in enumerate(trials)}
    front = [objective.measures(trial) for trial in objective.front(trials)]
    for one, other in itertools.permutations(front, 2):
        assert any(a < b for a, b in zip(one, other, strict=True))
    for own in measures.values():
        assert any(all(a <= b for a, b in zip(f, own, strict=True)) for f in front)
    assert front[0] == min(measures.values())


def test_choice_within_one_standard_error() -> None:
    """Less RAM wins if its extra cost varies between blocks; not if every block costs more."""
    none = (0.0,) * 4
    best = Trial({}, ram=500, wrong_by_block=(0.1, 0.1, 0.1, 0.1), abstained_by_block=none)
    close = Trial({}, ram=200, wrong_by_block=(0.12, 0.09, 0.12, 0.08), abstained_by_block=none)
    worse = Trial({}, ram=100, wrong_by_block=(0.12, 0.13, 0.12, 0.13), abstained_by_block=none)
    objective = Objective(labelled=True, price=0.2)
    front = objective.front([worse, close, best])
    assert front == [best, close, worse]
    assert objective.choose(front) is close
    assert objective.choose([best, worse]) is best
    assert Objective(labelled=False, price=0.2).choose(front) is best


def test_limits() -> None:
    """The limit of false alarms sets the alarm's promise and bounds the measured rate."""
    assert [Limits(false_alarms=n).h for n in (1.0, 0.95, 1000)] == [20, 21, 10]
    with pytest.raises(InputError, match=r"false_alarms must lie in 0\.06\.\.3906"):
        Limits(false_alarms=0)
    assert 1 << Limits(false_alarms=FEWEST).h == MAX_STEPS_PER_FALSE_ALARM
    trials = [Trial({}, ram=300, flash=9000), Trial({}, ram=200, flash=9000, false_alarms=500.0)]
    assert within_limits(trials, Limits()) == trials[:1]
    with pytest.raises(FitError, match=r"none of 2 .* ram by 1 \(least 200\), false_alarms by"):
        within_limits(trials, Limits(ram=250))
    with pytest.raises(FitError, match="no candidate can be fitted: why"):
        within_limits([Trial({}, error="why")], Limits())
