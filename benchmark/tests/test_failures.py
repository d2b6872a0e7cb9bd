# SPDX-License-Identifier: Apache-2.0
"""The comparison with a softmax threshold: its figures on made-up streams, and its short form."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcuq.decision import Trace
from tcuq.evaluation.measures import auroc
from tcuq_benchmark.measurements import failure_streams as streams
from tcuq_benchmark.measurements import failures
from tcuq_benchmark.scenario_run import ScenarioRun

STEPS = 2_000


def scored_run(seed: int = 0) -> streams.ScoredRun:
    """Return a stream of two faults: 20 % of predictions are wrong, 40 % after a shift.

    The risk of the trace knows nearly all errors, the baseline none of them.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, STEPS)
    shifted = np.arange(STEPS) % 1_000 >= 500
    wrong = rng.random(STEPS) < np.where(shifted, 0.4, 0.2)
    run = ScenarioRun(
        labels,
        np.array([0, 1_000]),
        shifted,
        shifted.astype(np.int64),
        np.repeat([0, 1], 1_000),
        ("one", "other"),
        {},
    )
    risk = np.where(wrong, 0.9, 0.1) + 0.05 * rng.random(STEPS)
    trace = replace(Trace.empty(STEPS), risk=risk, label=labels.astype(np.int32))
    posteriors = np.eye(3)[np.where(wrong, (labels + 1) % 3, labels)]
    doubts = {name: rng.random(STEPS) for name in streams.BASELINES}
    return streams.ScoredRun(run, trace, posteriors, doubts)


def entry(seed: int) -> streams.Figures:
    """Return the figures of one network on a made-up stream."""
    scored = scored_run(seed)
    return {
        "seed": seed,
        "failures": {n: streams.failure_difference(scored, n) for n in streams.BASELINES},
        "cells": list(streams.cells(scored)),
    }


def test_a_better_score_has_a_smaller_area_in_every_cell() -> None:
    """Each fault gives a cell with clean steps and one without; all are partial and below 1."""
    cells = list(streams.cells(scored_run()))
    assert [(cell["condition"], cell["form"]) for cell in cells] == [
        ("one", "whole"), ("one", "half"), ("other", "whole"), ("other", "half"),
    ]  # fmt: skip
    assert all(cell["ratio"] < 0.5 <= cell["right"] for cell in cells)


def test_a_cell_needs_errors() -> None:
    """Without errors there is no area to compare."""
    scored = scored_run()
    perfect = replace(scored, posteriors=np.eye(3)[scored.run.labels])
    assert list(streams.cells(perfect)) == []


def test_steps_without_a_label_do_not_count() -> None:
    """A window of no class is neither right nor wrong."""
    scored = scored_run()
    labels = np.where(np.arange(STEPS) % 7 == 0, -1, scored.run.labels)
    chance = (~scored.wrong).astype(np.float64)
    unlabelled = replace(scored, run=replace(scored.run, labels=labels))
    assert streams.estimate_error(unlabelled, chance) == pytest.approx(0, abs=1e-9)
    assert streams.rank_correlation(unlabelled, chance) == pytest.approx(1)


def test_the_error_of_an_estimate_is_that_of_its_mean() -> None:
    """An estimate of half for steps of which six in ten are right is off by a tenth."""
    error = streams.estimate_error(scored_run(), np.full(STEPS, 0.5))
    assert error == pytest.approx(0.1, abs=0.04)


def test_a_resampled_auroc_is_the_auroc_of_the_chosen_steps() -> None:
    """Repeated and tied steps count as they do in the plain measure."""
    rng = np.random.default_rng(0)
    event, score = rng.random(200) < 0.3, rng.integers(0, 20, 200) / 20
    value = streams.resampled_auroc(event, score)
    for _ in range(5):
        chosen = rng.integers(0, 200, 200)
        assert value(chosen) == pytest.approx(auroc(event[chosen], score[chosen]))
    assert np.isnan(value(np.flatnonzero(event)))


def test_the_interval_holds_the_difference() -> None:
    """It is over networks and blocks, and does not reach a set's limit if ours is better."""
    networks = [entry(seed) for seed in range(2)]
    low, high = failures.set_interval(networks, "max_prob")
    assert 0.4 < low < failures.set_difference(networks, "max_prob") < high < 0.6


def test_rows_name_the_worst_cell() -> None:
    """The network, fault and form of the cell with the largest ratio are in its row."""
    networks = [entry(seed) for seed in range(2)]
    networks[1]["cells"][2]["ratio"] = 1.5
    rows = {row.what: row for row in failures.cell_rows({"gas": networks}, "iid")}
    (worst,) = (row for what, row in rows.items() if "cells below 1" in what)
    assert worst.passed is False
    assert worst.measured.endswith("worst 1.50 (gas 1, other, whole)")


def test_the_short_form_needs_no_training(
    load: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the networks of the repository alone, it yields every kind of row but novelty's."""
    load("gas_drift")
    monkeypatch.setenv("TCUQ_CACHE", str(tmp_path))
    rows = list(failures.rows(short=True))
    for part in ("failure AUROC", "area under risk-coverage", "accuracy-drop", "rank correlation"):
        assert [row for row in rows if row.what.startswith(part) or part in row.what]
    assert len(list((tmp_path / "failures").iterdir())) == 4
