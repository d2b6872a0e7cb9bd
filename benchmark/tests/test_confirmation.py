# SPDX-License-Identifier: Apache-2.0
"""Verdicts and page of the second confirmation."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tcuq_benchmark.measurements import confirmation
from tcuq_benchmark.measurements.confirmation import Finding, accepted_error, difference
from tcuq_benchmark.report import confirmation_page as page

COHERENT = ("fsdd", "coherent")


def splits(broken: int, intact: int, refused: int) -> list[dict[str, Any]]:
    """Return figures of one network with this many splits of each outcome."""
    outcomes = [{"error": error, "coverage": 0.8} for error in [0.06] * broken + [0.04] * intact]
    return [{"splits": [*outcomes, *[None] * refused]}]


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.01, 0.012, 0.011], "confirmed"),
        ([-0.005, -0.006, -0.005], "confirmed"),
        ([-0.05, -0.051, -0.049], "refuted"),
        ([-0.05, 0.05, 0.0], "undecided"),
        ([float("nan"), 0.1, 0.1], "not measurable"),
    ],
)
def test_a_margin_is_judged_by_the_whole_interval(values: list[float], verdict: str) -> None:
    """Confirmed above, refuted below, else undecided; without a figure not measurable."""
    finding = difference(1, "claim", ("fsdd", "iid"), values, -0.01)
    assert finding.verdict == verdict
    assert finding.row().passed is (verdict == "confirmed")


def test_better_is_more_than_not_worse() -> None:
    """An interval that reaches below 0 does not confirm that ours is above."""
    values = [-0.001, 0.004, 0.002]
    assert difference(1, "claim", ("fsdd", "coherent"), values, 0.0, strictly=True).verdict == (
        "undecided"
    )


@pytest.mark.parametrize(
    ("broken", "intact", "refused", "verdict"),
    [
        (0, 0, 100, "not measurable"),
        (0, 19, 81, "not measurable"),
        (5, 95, 0, "confirmed"),
        (7, 93, 0, "undecided"),
        (30, 70, 0, "refuted"),
    ],
)
def test_refused_promises_never_count_as_kept(
    broken: int, intact: int, refused: int, verdict: str
) -> None:
    """Shares are of the promises that were issued."""
    finding = accepted_error(splits(broken, intact, refused), "fsdd", "iid", 0.05)
    assert finding.verdict == verdict
    assert f"{broken} of {broken + intact} broken" in finding.figure
    assert f"{refused} of 100 refused" in finding.spread


def test_the_page_has_one_figure_a_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every finding has its own row with figure, interval and verdict; the first follows."""
    findings = [
        Finding(1, "claim", task, "coherent", "≥ 0", "+0.010", "+0.005 to +0.015", verdict)
        for task, verdict in (("fsdd", "confirmed"), ("bearings", "refuted"))
    ]
    document = {
        "date": "2026-11-18",
        "claims": [asdict(finding) for finding in findings],
        "base_error": {"fsdd": 0.04, "bearings": 0.002},
        "commits": {"protocol": "abc", "run": "def"},
        "accuracy": {"fsdd, coherent": {"in distribution": 0.9}},
    }
    path = tmp_path / "confirmation.json"
    path.write_text(json.dumps(document), "utf-8")
    monkeypatch.setattr(page, "RESULT", path)
    text = page.confirmation_page()["confirmation.md"]
    assert "Of 2 findings: 1 confirmed, 1 refuted." in text
    line = "| 1 | claim | coherent | ≥ 0 | +0.010 | +0.005 to +0.015 | **refuted** |"
    assert line in text.splitlines()
    assert "<br>" not in text
    assert "## The first confirmation" in text


def test_the_committed_page_is_the_one_that_the_results_give() -> None:
    """The page is not edited and not older than the results."""
    committed = Path(__file__).parents[2] / "benchmark/docs/confirmation.md"
    assert committed.read_text("utf-8") == page.confirmation_page()["confirmation.md"]


def test_the_ratio_of_areas_is_judged_on_the_other_side() -> None:
    """Below the limit is confirmed, above it refuted."""
    low, high = ([{"cells": [{"ratio": r + d}]} for d in (0, 0.01, 0.02)] for r in (0.8, 1.2))
    assert confirmation.risk_coverage(low, *COHERENT).verdict == "confirmed"  # type: ignore[arg-type]
    assert confirmation.risk_coverage(high, *COHERENT).verdict == "refuted"  # type: ignore[arg-type]
