# SPDX-License-Identifier: Apache-2.0
import re

import pytest

from benchmark.report import results
from benchmark.report.claims import Verdict, comparison_claim, paper, verdict_of
from benchmark.report.claims_page import claims_page
from benchmark.report.line_chart import FRAME, line_chart
from benchmark.report.results_page import results_page


@pytest.mark.parametrize(
    ("cases", "verdict"),
    [
        ([True, True], "reproduced"),
        ([True, False], "partly"),
        ([False, False], "refuted"),
        ([], "not run yet"),
    ],
)
def test_verdict_follows_from_the_cases(cases: list[bool], verdict: Verdict) -> None:
    """All, some or none of the cases hold."""
    assert verdict_of(cases) == verdict


def test_a_comparison_that_was_not_run_has_no_verdict() -> None:
    """A comparison without rows says so instead of calling the claim refuted."""
    claim = comparison_claim("a table", "a claim", {"MNIST": ({}, {0: 0.5})}, lambda a, b: a > b)
    assert (claim.measured, claim.verdict) == ("not run", "not run yet")


def test_every_claim_has_a_measurement_and_a_verdict() -> None:
    """No blank in the claims page."""
    rows = [line for line in claims_page()["claims.md"].splitlines() if line.startswith("| ")]
    assert len(rows) > 20
    for row in rows:
        assert all(cell.strip() for cell in row.strip("|").split("|")), row


def test_the_papers_numbers_are_in_range() -> None:
    """Transcribed AUROC and AUPRC values are in [0, 1]."""
    for table in ("accuracy_drop", "failure", "out_of_distribution"):
        for row in paper()[table].values():
            assert all(0 <= value <= 1 for value in row.values())
    assert all(len(row) == 5 for row in paper()["accuracy_drop_by_severity"].values())


def test_names_in_a_chart_do_not_overlap() -> None:
    """Lines that end at the same point have their names one below the other."""
    text = line_chart(
        "t", [1, 2], {"a": [0.1, 0.5], "b": [0.2, 0.5], "c": [0, 0]}, x_name="x", y_name="y"
    )
    names = {
        name: float(y)
        for y, name in re.findall(
            r'class="name series\d" x="[0-9.]+" y="([0-9.]+)">([abc])</text>', text
        )
    }
    assert text.startswith("<svg")
    assert text.endswith("</svg>\n")
    assert abs(names["a"] - names["b"]) >= 14
    assert all(0 < y < FRAME.height for y in names.values())


def test_pages_are_made_from_results_alone() -> None:
    """Generating twice gives the same page, with every committed task on it."""
    page = results_page()
    assert page == results_page()
    for task in results.TASKS:
        if results.rows("detection", task):
            assert results.TITLES[task] in page["index.md"]
