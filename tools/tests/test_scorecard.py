# SPDX-License-Identifier: Apache-2.0
"""The scorecard complains of results that no longer say anything about the software."""

from typing import Any

import pytest

from results.result import ROOT
from results.scorecard import complaints, last_release, with_figures


def result(date: str) -> dict[str, Any]:
    """Return a result without rows."""
    return {"date": date, "versions": {"tcuq": "0.1.0"}, "rows": []}


def test_result_older_than_the_last_release_is_refused() -> None:
    """A result of the day of the release is taken, an older one is named."""
    released = last_release((ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert not any("results/" in line for line in complaints({"fresh": result(released)}))
    (line,) = (one for one in complaints({"old": result("2020-01-01")}) if "results/" in one)
    assert line == "results/old.json is of 2020-01-01, before the last release: make measure"


def test_release_without_a_date_does_not_count() -> None:
    """The version in preparation has no date."""
    assert last_release("## [0.3.0] - unreleased\n\n## [0.2.0] - 2027-01-02\n") == "2027-01-02"
    with pytest.raises(ValueError, match="must have a release with a date"):
        last_release("## [0.3.0] - unreleased\n")


def test_figures_of_documents_are_those_of_one_row_alone() -> None:
    """A quote is renewed when one row has its name; else it stays, and the check names it."""
    rows = [{"what": "delay, speech", "measured": "52"}, {"what": "delay, gas", "measured": "90"}]
    documents = {"alarm": result("2026-11-19") | {"rows": rows}}
    quote = "<!-- figure: alarm / {} -->{}<!-- /figure -->".format
    assert with_figures(quote("delay, speech", "50"), documents) == quote("delay, speech", "52")
    assert with_figures(quote("delay", "50"), documents) == quote("delay", "50")
