# SPDX-License-Identifier: Apache-2.0
"""The parts of tuning: grid, split, limits and front."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tcuq
from tcuq.tune import Grid, Limits, Trial
from tcuq.tune.front import Judge, kept
from tcuq.tune.split import fitting_part, judging_part, usual

Make = Callable[..., tcuq.Stream]


def test_labels_decide_what_is_tried() -> None:
    """Without labels score, alpha and budget are not tuned, unless it is asked for."""
    free = Grid().candidates(labelled=False, h=20)
    assert {(c["score"], c["alpha"], c["budget"]) for c in free} == {("anchored", 0.1, 0.15)}
    asked = Grid(alpha=(0.02, 0.3)).candidates(labelled=False, h=20)
    assert {c["alpha"] for c in asked} == {0.02, 0.3}
    assert {c.get("mix") for c in Grid().candidates(labelled=True, h=20)} == {None, 0.5, 0.7, 0.9}
    with pytest.raises(tcuq.InputError, match=r"alpha must lie in 1.52588e-05\.\.0\.999985, got 2"):
        Grid(alpha=(2.0,)).candidates(labelled=True, h=20)


def test_the_parts_are_in_order_and_apart(synthetic: Make) -> None:
    """The judging part begins a gap after the fitting part ends, and nothing is in both."""
    stream = synthetic(steps=2000, starts=[0, 700, 1900])
    fitting, judging = fitting_part(stream), judging_part(stream, 64)
    assert (len(fitting), len(judging)) == (1200, 2000 - 1200 - 64)
    assert np.array_equal(fitting.posteriors, stream.posteriors[:1200])
    assert np.array_equal(judging.posteriors, stream.posteriors[1264:])
    assert judging.starts.tolist() == [0, 1900 - 1264]


def test_a_stream_too_short_is_refused(synthetic: Make) -> None:
    """Both parts hold enough usual steps, or the error says which does not."""
    with pytest.raises(tcuq.FitError, match="the fitting part must hold at least 256 steps"):
        fitting_part(synthetic(steps=400))
    with pytest.raises(tcuq.FitError, match="the judging part must hold at least 256 steps"):
        judging_part(synthetic(steps=600), 16)
    with pytest.raises(tcuq.FitError, match="leaves nothing of the last 240 steps to judge on"):
        judging_part(synthetic(steps=600), 256)
    late = np.arange(2000) > 1300
    with pytest.raises(tcuq.FitError, match="not shifted, got 37"):
        judging_part(synthetic(steps=2000, shifted=late), 64)


def test_shifted_steps_calibrate_nothing(synthetic: Make) -> None:
    """They are left out, and history does not reach across the hole."""
    shifted = np.zeros(600, np.bool_)
    shifted[100:150] = shifted[300:] = True
    stream = synthetic(shifted=shifted, starts=[0, 50])
    found = usual(stream)
    assert np.array_equal(found.posteriors, stream.posteriors[~shifted])
    assert found.starts.tolist() == [0, 50, 100]
    assert usual(found) is found


@given(
    st.lists(
        st.tuples(*[st.integers(0, 3)] * 4, st.sampled_from([1.0, 2.0, math.inf])), min_size=1
    ),
    st.booleans(),
)
def test_front_is_what_nobody_betters(
    rows: list[tuple[int, int, int, int, float]], labelled: bool
) -> None:
    """On the front nobody is bettered; off it everybody is bettered or equalled; the best leads."""
    trials = [
        Trial({}, ram=a, flash=b, wrong_by_part=(c,), deviation=d, delay=delay)
        for a, b, c, d, delay in rows
    ]
    judge = Judge(labelled, price=0.2)
    measures = {t: judge.measures(trial) for t, trial in enumerate(trials)}
    front = [judge.measures(trial) for trial in judge.front(trials)]
    for one, other in itertools.permutations(front, 2):
        assert any(a < b for a, b in zip(one, other, strict=True))
    for own in measures.values():
        assert any(all(a <= b for a, b in zip(f, own, strict=True)) for f in front)
    assert front[0] == min(measures.values())


def test_a_difference_within_noise_is_not_paid_for() -> None:
    """More cost in some parts and less in others is taken for less RAM; more in all is not."""
    none = (0.0,) * 4
    best = Trial({}, ram=500, wrong_by_part=(0.1, 0.1, 0.1, 0.1), abstained_by_part=none)
    alike = Trial({}, ram=200, wrong_by_part=(0.12, 0.09, 0.12, 0.08), abstained_by_part=none)
    worse = Trial({}, ram=100, wrong_by_part=(0.12, 0.13, 0.12, 0.13), abstained_by_part=none)
    judge = Judge(labelled=True, price=0.2)
    front = judge.front([worse, alike, best])
    assert front == [best, alike, worse]
    assert judge.chosen(front) is alike
    assert judge.chosen([best, worse]) is best
    assert Judge(labelled=False, price=0.2).chosen(front) is best


def test_limits() -> None:
    """A limit of false alarms is the promise that is asked of the alarm, and of what is seen."""
    assert [Limits(false_alarms=n).h for n in (1.0, 0.95, 1000)] == [20, 21, 10]
    with pytest.raises(tcuq.InputError, match=r"false_alarms must lie in 1e-6\.\.3906"):
        Limits(false_alarms=0)
    trials = [Trial({}, ram=300, flash=9000), Trial({}, ram=200, flash=9000, false_alarms=500.0)]
    assert kept(trials, Limits()) == trials[:1]
    with pytest.raises(
        tcuq.FitError, match=r"none of 2 .* ram by 1 \(least 200\), false_alarms by"
    ):
        kept(trials, Limits(ram=250))
    with pytest.raises(tcuq.FitError, match="no candidate can be fitted: why"):
        kept([Trial({}, failed="why")], Limits())
