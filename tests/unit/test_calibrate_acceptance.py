# SPDX-License-Identifier: Apache-2.0
"""The threshold of a promised accepted error: chosen by labels, refused without enough of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import tcuq
from tcuq.calibrate.acceptance import choose_threshold, units_without_error, without_labels
from tcuq.calibrate.independence import LabelledSteps, betting_p_value, binomial_p_value
from tcuq.demo import demo_stream
from tcuq.errors import CalibrationWarning, FitError, InputError, ProfileError
from tcuq.options import PromiseOptions
from tests.fixtures.conformance import promised_profile, quiet_fit

STEPS = 1000


def labelled(wrong: np.ndarray, **columns: Any) -> LabelledSteps:
    """Return steps of one recording whose risk rises with their number."""
    steps = len(wrong)
    usual = {
        "label": np.random.default_rng(1).integers(0, 5, steps),
        "doubt": np.random.default_rng(0).random(steps),
        "recording": np.zeros(steps, np.int64),
        "row": np.arange(steps),
        "levels": np.arange(steps) * 16,
    }
    return LabelledSteps(wrong=wrong, **{**usual, **columns})


def test_p_values_are_exact() -> None:
    """Without an error 59 units prove 5 % at 95 % and 58 do not, by the binomial p-value."""
    assert units_without_error(0.05, 0.95) == 59
    assert binomial_p_value(0, 59, 0.05) <= 0.05 < binomial_p_value(0, 58, 0.05)
    proved, missed = (betting_p_value(np.zeros(n), 0.05, 0.05) for n in (59, 58))
    assert proved <= 0.05 < missed
    assert binomial_p_value(7, 200, 0.05) == pytest.approx(binom.cdf(7, 200, 0.05))
    assert binomial_p_value(6.2, 200, 0.05) == binomial_p_value(7, 200, 0.05)
    assert binomial_p_value(200, 200, 0.05) == 1


def test_an_entirely_wrong_recording_ends_the_bets() -> None:
    """With the largest bets, a recording that is all wrong leaves no capital to win back."""
    shares = np.append(np.zeros(30), 1.0)
    assert betting_p_value(np.append(shares, np.zeros(25)), 0.05, 0.05) > 0.05


def test_threshold_separates_errors() -> None:
    """Errors above a risk are left out, and nearly everything below it is accepted."""
    rng = np.random.default_rng(1)
    rank = rng.permutation(STEPS)
    wrong = (rank >= 600) & (rng.random(STEPS) < 0.5)
    chosen = choose_threshold(labelled(wrong, levels=16 * rank), "steps", 0.05, 0.95)
    assert 600 <= chosen.steps <= 660
    assert chosen.errors <= 0.05 * chosen.steps


def test_clustered_and_repeated_errors_count_less() -> None:
    """Runs and repeats are worth fewer steps; where errors are few, doubts say how they cluster."""
    rng = np.random.default_rng(2)
    levels = rng.permutation(STEPS) * 16
    single = rng.random(STEPS) < 0.1
    runs = np.repeat(rng.random(STEPS // 10) < 0.1, 10)
    top = 16 * STEPS
    assert labelled(single, levels=levels).independent("steps", [top])[0] > 0.7 * STEPS
    assert labelled(runs, levels=levels).independent("steps", [top])[0] < 0.2 * STEPS
    shuffled = rng.permutation(STEPS)
    repeated = labelled(runs[shuffled], levels=levels, row=shuffled // 10)
    assert repeated.independent("steps", [top])[0] < 0.2 * STEPS
    doubt = np.repeat(np.random.default_rng(3).random(STEPS // 20), 20)
    steps = labelled(np.zeros(STEPS, np.bool_), doubt=doubt)
    assert steps.independent("steps", [16 * STEPS])[0] < STEPS / 5


def test_recordings_are_counted_once() -> None:
    """Where recordings are the units, their length does not matter."""
    steps = labelled(np.zeros(STEPS, np.bool_), recording=np.arange(STEPS) // 50)
    assert steps.independent("recordings", [16 * STEPS])[0] == STEPS // 50
    with pytest.raises(FitError, match=r"at least 59 labelled recordings .* calibration has 20"):
        choose_threshold(steps, "recordings", 0.05, 0.95)


def test_one_long_bad_recording_allows_no_promise() -> None:
    """The mean recording is fine, the accepted steps together are not: no such promise is made."""
    lengths = [40] * 200 + [4_000]
    wrong = np.zeros(sum(lengths), np.bool_)
    wrong[-4_000:][::3] = True
    levels = np.random.default_rng(0).integers(0, 16_384, len(wrong))
    recording = np.repeat(np.arange(len(lengths)), lengths)
    steps = labelled(wrong, recording=recording, levels=levels)
    with pytest.raises(FitError, match=r"cannot be kept .* give accepted_error=0\.1\d? or more"):
        choose_threshold(steps, "recordings", 0.05, 0.95)
    assert choose_threshold(steps, "recordings", 0.15, 0.95).errors == wrong.sum()


@pytest.mark.parametrize(
    ("wrong", "accepted_error", "message"),
    [
        (
            np.zeros(50, np.bool_), 0.05,
            r"at confidence 0\.95 needs at least 59 .*has 50 labelled steps, worth \d+ independent",
        ),
        (
            np.random.default_rng(4).random(STEPS) < 0.3, 0.05,
            r"cannot be kept at any threshold.*accepted_error=0\.2",
        ),
        (np.arange(200) % 40 == 0, 0.04, r"label about [\d,]+ such steps, or give"),
    ],
    ids=["too few steps", "too many errors", "almost enough labels"],
)  # fmt: skip
def test_labels_that_cannot_prove_a_promise_are_refused(
    wrong: np.ndarray, accepted_error: float, message: str
) -> None:
    """The message counts the independent steps, names a larger error or how many labels to add."""
    with pytest.raises(FitError, match=message):
        choose_threshold(labelled(wrong), "steps", accepted_error, 0.95)


def test_profile_holds_the_promise() -> None:
    """The profile states it and its threshold is fixed; labels change nothing but the threshold."""
    profile = promised_profile()
    promise = profile.promise
    assert promise is not None
    assert (promise.accepted_error, promise.confidence, promise.unit) == (0.05, 0.95, "steps")
    assert promise.errors <= 0.05 * promise.labelled
    assert tcuq.Profile.from_json(profile.to_json()) == profile
    assert "at most 5 % is wrong, with 95 % confidence" in " ".join(profile.summary().split())
    trace = tcuq.Monitor(profile).run(demo_stream("calibration"))
    assert np.unique(trace.threshold).tolist() == [profile.threshold.anchor / 16384]
    plain = quiet_fit(without_labels(demo_stream("calibration")))
    assert (profile.signals, profile.score) == (plain.signals, plain.score)


def test_two_recordings_or_no_labels_promise_nothing(synthetic: Callable[..., tcuq.Stream]) -> None:
    """Two recordings cannot promise anything for a third; without labels it says where they go."""
    with pytest.raises(
        FitError, match=r'calibration has 2: record more, or give independent_unit="st'
    ):
        tcuq.fit(demo_stream("calibration"), promise=PromiseOptions(0.05))
    with pytest.raises(FitError, match=r"needs labels on the calibration stream.*Stream\(labels="):
        tcuq.fit(synthetic(labels=None), promise=PromiseOptions(0.05))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.1}, "both choose the threshold"),
        ({"paper": tcuq.PaperOptions("anchored")}, "needs a fixed threshold"),
        ({"projection": "lda"}, 'needs projection="pca"'),
        ({"alarm": False}, "needs alarm=True"),
    ],
)
def test_options_that_contradict_are_refused(
    synthetic: Callable[..., tcuq.Stream], options: dict[str, Any], message: str
) -> None:
    """Options that cannot keep a promise are refused before anything is fitted."""
    with pytest.raises(InputError, match=message):
        tcuq.fit(synthetic(), promise=PromiseOptions(0.05), **options)


def test_a_small_budget_is_named() -> None:
    """If more must be withheld than the budget allows, the fit warns of DENIED steps."""
    with pytest.warns(CalibrationWarning, match="will be DENIED, which are not accepted"):
        profile = tcuq.fit(
            demo_stream("calibration"),
            promise=PromiseOptions(0.015, independent_unit="steps"),
            budget=0.001,
            burst=1,
        )
    assert profile.promise is not None
    assert profile.promise.denied > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"independent": 10**6}, "promise.independent must be at most promise.labelled"),
        ({"errors": 3000}, "promise.errors must be at most 0.05 of promise.labelled"),
        ({"denied": 0.9}, "promise.coverage and promise.denied must be at most 1 together"),
    ],
)
def test_impossible_promises_are_refused(changes: dict[str, Any], message: str) -> None:
    """A profile whose promise contradicts its own numbers is not loaded."""
    profile = promised_profile()
    assert profile.promise is not None
    changed = replace(profile, promise=replace(profile.promise, **changes))
    with pytest.raises(ProfileError, match=message):
        tcuq.Profile.from_json(changed.to_json())


def test_a_promise_needs_a_fixed_threshold_and_an_alarm() -> None:
    """A moving threshold, a start beside the anchor, or no alarm is refused with a promise."""
    profile = promised_profile()
    moving = replace(profile, threshold=replace(profile.threshold, step=128))
    beside = replace(profile, threshold=replace(profile.threshold, start=1))
    for changed, message in (
        (moving, "threshold.step must be 0 with a promise, got 128"),
        (beside, "threshold.start must be the anchor"),
        (replace(profile, alarm=None), "alarm must be given with a promise"),
    ):
        with pytest.raises(ProfileError, match=message):
            tcuq.Profile.from_json(changed.to_json())
