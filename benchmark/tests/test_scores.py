# SPDX-License-Identifier: Apache-2.0
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcuq_benchmark.experiments import measures
from tcuq_benchmark.experiments.trials import TRIALS, Tuned
from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scores.monitors import MonitorScore
from tcuq_benchmark.scores.refitted import SIGNALS, RefittedScore
from tcuq_benchmark.scores.score import Prediction
from tcuq_benchmark.scores.table import SCORES

CLASSES, WIDTH = 4, 6
PROTOCOL = Path(__file__).parents[1] / "docs/protocol.md"


def synthetic(steps: int, seed: int, spread: float = 0.5) -> ScenarioRun:
    """Return a network that is wrong more often in the second half of each of two conditions."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.integers(0, CLASSES, steps // 20), 20)
    shifted = np.tile(np.repeat([False, True], steps // 4), 2)
    centres = np.eye(CLASSES, WIDTH) * 4
    noise = rng.normal(size=(steps, WIDTH)) * np.where(shifted, 4 * spread, spread)[:, None]
    features = (centres[labels] + noise).astype(np.float32)
    logits = features[:, :CLASSES]
    several = logits[:, None] + rng.normal(size=(steps, 3, CLASSES)).astype(np.float32)
    one = {
        "logits": logits,
        "features": features,
        "early": features + 1,
        "heads": several,
        "passes": several,
        "alpha": np.exp(logits),
        "odin": 1 / (1 + np.exp(-logits.max(axis=1))),
    }
    networks = "base assisted wide exits exits-light hydra dropout postnet odin member0 member1"
    return ScenarioRun(
        labels,
        np.array([0, steps // 2]),
        shifted,
        shifted * 3,
        np.repeat([0, 1], steps // 2),
        ("one", "other"),
        dict.fromkeys(networks.split(), one),
    )


def in_distribution(steps: int, seed: int) -> ScenarioRun:
    """Return an in-distribution run of the same network."""
    run = synthetic(2 * steps, seed)
    return run.where(~run.shifted)


@pytest.mark.parametrize("name", SCORES)
def test_every_score_implements_the_interface(name: str) -> None:
    """Fitted on one stream, it predicts probabilities and a finite risk on another."""
    score = SCORES[name].make()
    score.fit(in_distribution(2_000, 0), synthetic(2_000, 1))
    run = synthetic(800, 2)
    prediction = score.predict(run)
    assert prediction.probabilities.shape == (800, CLASSES)
    np.testing.assert_allclose(prediction.probabilities.sum(axis=1), 1)
    assert prediction.risk.shape == (800,)
    assert np.isfinite(prediction.risk).all()
    again = score.predict(run)
    assert (again.risk == prediction.risk).all()


@pytest.mark.parametrize("name", sorted(set(SCORES) - {"always", "never", "random"}))
def test_every_score_is_better_than_chance(name: str) -> None:
    """On a stream with visible errors, wrong steps rank above correct ones."""
    score = SCORES[name].make()
    score.fit(in_distribution(4_000, 0), synthetic(4_000, 1))
    run = synthetic(4_000, 2)
    assert measures.failure_auroc(run, score.predict(run)) > 0.6


def test_drops_are_measured_by_condition_against_calibration_accuracy() -> None:
    """A risk that is high where accuracy fell beats a constant one."""
    run = synthetic(4_000, 3)
    score = SCORES["max_prob"].make()
    reference = measures.accuracy_reference(in_distribution(4_000, 4))
    prediction = score.predict(run)
    constant = SCORES["never"].make().predict(run)
    for name, value in measures.drop_auprc(run, prediction, reference).items():
        assert value > measures.drop_auprc(run, constant, reference)[name] + 0.2


def test_windows_are_ranked_by_the_expected_error_and_steps_by_the_risk() -> None:
    """The expected error decides drops and delays; failures ignore it."""
    run, clean = synthetic(4_000, 3), in_distribution(4_000, 4)
    reference = measures.accuracy_reference(clean)
    plain = SCORES["max_prob"].make().predict(run)
    flat = replace(plain, expected_error=np.zeros(len(run)))
    swapped = replace(plain, risk=np.zeros(len(run)), expected_error=plain.risk)
    drops = [measures.drop_auprc(run, p, reference) for p in (plain, flat, swapped)]
    assert drops[2] == drops[0]
    assert all(drops[1][name] < drops[0][name] for name in run.conditions)
    assert measures.failure_auroc(run, flat) == measures.failure_auroc(run, plain)
    assert measures.failure_auroc(run, swapped) == 0.5


def test_the_papers_score_has_one_value_for_steps_and_windows() -> None:
    """Its expected error is its risk."""
    score = SCORES["tcuq"].make()
    score.fit(in_distribution(2_000, 0), synthetic(2_000, 1))
    prediction = score.predict(synthetic(800, 2))
    np.testing.assert_array_equal(prediction.expected_error, prediction.risk)


def test_delay_is_counted_from_the_shift_and_a_miss_is_the_shifts_length() -> None:
    """A risk that jumps 30 steps after the shift is found late; a flat one is missed."""
    run, clean = synthetic(4_000, 3), in_distribution(4_000, 4)
    reference = measures.accuracy_reference(clean)
    probabilities = SCORES["max_prob"].make().predict(run).probabilities
    since = np.arange(len(run)) % 2_000 - 1_000
    rng = np.random.default_rng(0)
    calm = Prediction(np.ones((len(clean), 1)), rng.uniform(size=len(clean)))
    jump = Prediction(probabilities, np.where(since >= 30, 100.0, 0.0))
    late = measures.detection_delay(run, jump, (clean, calm), reference)
    assert late == {"median": 31, "missed": 0, "conditions": 2}
    flat = Prediction(probabilities, np.zeros(len(run)))
    missed = measures.detection_delay(run, flat, (clean, calm), reference)
    assert missed == {"median": 1_000, "missed": 2, "conditions": 2}


def test_the_refit_is_the_librarys_regression() -> None:
    """With all four signals the refitted weights are those of `tcuq.fit`."""
    calibration, development = in_distribution(2_000, 0), synthetic(2_000, 1)
    whole = MonitorScore({"score": "tcuq"}, labelled=True)
    refitted = RefittedScore(SIGNALS)
    for score in (whole, refitted):
        score.fit(calibration, development)
    ours, theirs = (vars_of(score) for score in (refitted.fitted_, whole))
    np.testing.assert_allclose(ours, theirs, atol=0.05)


def test_a_left_out_signal_changes_the_other_weights() -> None:
    """The ablation fits again instead of setting a weight to zero."""
    calibration, development = in_distribution(2_000, 0), synthetic(2_000, 1)
    whole, without = RefittedScore(SIGNALS), RefittedScore(SIGNALS[:2] + SIGNALS[3:])
    for score in (whole, without):
        score.fit(calibration, development)
    before, after = vars_of(whole.fitted_), vars_of(without.fitted_)
    assert after[2] == 0
    assert abs(after[0] - before[0]) > 0.1


def vars_of(score: MonitorScore) -> list[float]:
    """Return the combiner's weights and bias."""
    settings: Any = score.profile().score
    return [*(getattr(settings.weights, name) for name in SIGNALS), settings.bias]


def test_every_score_has_eight_trials() -> None:
    """Ours are not tuned more than others'."""
    assert {name: len(candidates) for name, candidates in TRIALS.items()} == dict.fromkeys(
        TRIALS, 8
    )
    assert set(TRIALS) <= set(SCORES)


def test_the_protocol_lists_every_tuned_score() -> None:
    """The table of trials names the scores that are tuned, and no others."""
    rows = PROTOCOL.read_text("utf-8").split("| score | trials |")[1].split("\n\n")[0]
    named = [name.strip() for row in rows.splitlines()[2:] for name in row.split("|")[1].split(",")]
    assert {re.sub("^M", "m", name) for name in named} == set(TRIALS)


@pytest.mark.parametrize("name", ["max_prob", "mahalanobis", "tcuq", "recommended labelled"])
def test_the_chosen_trial_predicts(name: str) -> None:
    """One of the eight is chosen and predicts a finite risk."""
    score = Tuned(TRIALS[name])
    score.fit(in_distribution(2_000, 0), synthetic(2_000, 1))
    assert score.chosen_ in TRIALS[name]
    assert np.isfinite(score.predict(synthetic(800, 2)).risk).all()


def test_a_better_candidate_is_chosen() -> None:
    """Of a score and its opposite the right one is kept."""
    candidates = {"never": SCORES["never"].make, "max_prob": SCORES["max_prob"].make}
    score = Tuned(candidates)
    score.fit(in_distribution(2_000, 0), synthetic(2_000, 1))
    assert score.chosen_ == "max_prob"
