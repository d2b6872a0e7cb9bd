# SPDX-License-Identifier: Apache-2.0
import re

import pytest

from benchmark.report import held
from benchmark.report.claims import Verdict, compared, of_cases, paper
from benchmark.report.claims_page import claims_page
from benchmark.report.lines import HEIGHT, line_chart
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
    """All, some or none."""
    assert of_cases(cases) == verdict


def test_what_was_not_run_gets_no_verdict_of_its_own() -> None:
    """A comparison without rows says so instead of calling the claim refuted."""
    claim = compared("a table", "a claim", {"MNIST": ({}, {0: 0.5})}, lambda a, b: a > b)
    assert (claim.measured, claim.verdict) == ("not run", "not run yet")


def test_every_claim_has_a_measurement_and_a_verdict() -> None:
    """No blank in the claims page."""
    rows = [line for line in claims_page()["claims.md"].splitlines() if line.startswith("| ")]
    assert len(rows) > 20
    for row in rows:
        assert all(cell.strip() for cell in row.strip("|").split("|")), row


def test_the_papers_numbers_lie_where_numbers_of_their_kind_lie() -> None:
    """A slip of the pen in the transcription would leave [0, 1]."""
    for table in ("accuracy_drop", "failure", "other"):
        for row in paper()[table].values():
            assert all(0 <= value <= 1 for value in row.values())
    assert all(len(row) == 5 for row in paper()["accuracy_drop_by_severity"].values())


def test_names_in_a_chart_do_not_overlap() -> None:
    """Lines that end at the same place have names one below the other."""
    text = line_chart(
        "t", [1, 2], {"a": [0.1, 0.5], "b": [0.2, 0.5], "c": [0, 0]}, x_name="x", y_name="y"
    )
    names = {
        name: float(y)
        for y, name in re.findall(r'y="([0-9.]+)" fill="#[0-9a-f]+">([abc])</text>', text)
    }
    assert text.startswith("<svg")
    assert text.endswith("</svg>\n")
    assert abs(names["a"] - names["b"]) >= 14
    assert all(0 < y < HEIGHT for y in names.values())


def test_pages_are_made_from_results_alone() -> None:
    """Twice the same, and every committed task is on the page."""
    page = results_page()
    assert page == results_page()
    for task in held.TASKS:
        if held.rows("detection", task):
            assert held.TITLES[task] in page["index.md"]
