# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path

import numpy as np
import pytest

from benchmark.experiments.trials import TRIALS, Tuned, default_terms
from benchmark.scores.table import SCORES
from tests.benchmark.test_scores import in_distribution, synthetic

PROTOCOL = Path(__file__).parents[2] / "docs/benchmark/protocol.md"


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


def test_the_default_terms_are_the_presets() -> None:
    """A fit with the terms read from a profile is the fit without the option."""
    assert default_terms()[0].signal == "low_confidence"
    assert len(default_terms()) == 6
