# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from tcuq.charts import Axis
from tcuq_benchmark.experiments.result import ExperimentRow, read_result
from tcuq_benchmark.report import claims_page as page
from tcuq_benchmark.report import results
from tcuq_benchmark.report.claims_page import all_claims, claims_page
from tcuq_benchmark.report.comparisons import Measure, compare
from tcuq_benchmark.report.line_chart import line_chart
from tcuq_benchmark.report.results_page import results_page
from tcuq_benchmark.report.scorecard import scorecard_rows
from tcuq_benchmark.report.verdict import TESTED, fewest_seeds


def test_every_claim_has_a_measurement_and_a_verdict() -> None:
    """No blank in the claims page."""
    rows = [line for line in claims_page()["claims.md"].splitlines() if line.startswith("| ")]
    assert len(rows) > 20
    for row in rows:
        assert all(cell.strip() for cell in row.strip("|").split("|")), row


def test_no_verdict_without_a_test() -> None:
    """Reproduced, refuted and undecided come from comparisons that have at least one seed."""
    for claim in all_claims():
        if claim.verdict in TESTED:
            assert not isinstance(claim.basis, str), claim.where
            assert fewest_seeds(claim.basis) >= 1, claim.where


def test_no_row_names_what_was_not_run() -> None:
    """A comparison with a verdict has results; one without any says so and has none."""
    for claim in all_claims():
        if isinstance(claim.basis, str):
            continue
        comparisons = [one for group in claim.basis.values() for one in group]
        missing = [one.name for one in comparisons if not one.differences]
        if claim.verdict in {"reproduced", "undecided"}:
            assert not missing, claim.where
        if claim.verdict == "not run yet":
            assert missing, claim.where
        assert ("not run" in claim.measured) == bool(missing), claim.where


def test_every_number_of_a_row_is_in_the_results() -> None:
    """Recomputed from the rows of the file by hand, one lead and one ablation agree."""
    rows = read_result("detection", "mnist")["rows"]
    nll = {
        (row["score"], row["seed"]): row["probabilities"]["NLL"]
        for row in rows
        if row["kind"] == "iid"
    }
    seeds = sorted(s for name, s in nll if name == "tcuq assisted" and ("max_prob", s) in nll)
    expected = [nll["max_prob", seed] - nll["tcuq assisted", seed] for seed in seeds]
    measure = Measure("probabilities/NLL", "iid")
    comparison = compare("mnist", measure, "tcuq assisted", "max_prob")
    assert comparison.differences == pytest.approx(expected)
    mean, spread = np.mean(expected), np.std(expected, ddof=1) / np.sqrt(len(seeds))
    low = mean - scipy.stats.t.ppf(0.975, len(seeds) - 1) * spread
    assert comparison.interval().low == pytest.approx(low)


def test_accuracy_drops_are_paired_by_condition() -> None:
    """A corruption in which only one network's accuracy dropped is left out of the difference."""
    values = results.by_condition(
        "detection", "mnist", "drop AUPRC", score="max_prob", kind="coherent"
    )
    assert {name for _, name in values} > {"fog"}


def confirmation_rows(kind: str) -> list[ExperimentRow]:
    """Return rows of the confirmation in which TCUQ is always better."""
    rows = []
    for score, level in {
        "tcuq assisted": 0.9,
        "max_prob": 0.5,
        "ensemble": 0.6,
        "exits": 0.4,
    }.items():
        for seed in range(3):
            value = level + 0.01 * seed * (score == "max_prob")
            probabilities = {"F1": value, "NLL": 2 - value, "Brier / classes": 1 - value}
            severities = dict.fromkeys("12345", value)
            rows.append(
                {"score": score, "kind": kind, "seed": seed, "probabilities": probabilities}
                | {"drop AUPRC by severity": severities}
            )
    return rows


def replace_confirmation(monkeypatch: pytest.MonkeyPatch, rows: list[ExperimentRow]) -> None:
    """Replace the committed rows of the confirmation."""
    committed = results.rows

    def replaced(experiment: str, task: str) -> list[ExperimentRow]:
        return rows if task == "tinyimagenet" else committed(experiment, task)

    for module in (results, page):
        monkeypatch.setattr(module, "rows", replaced)


@pytest.mark.parametrize("kind", ["iid", "coherent"])
def test_the_page_reads_the_confirmation_when_it_was_run(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows get a verdict from the file, on the kind of streams that it has."""
    replace_confirmation(monkeypatch, confirmation_rows(kind))
    verdicts = {c.where: c.verdict for c in all_claims()}
    assert verdicts[f"figure of accuracy drops (c), {page.STREAMS[kind]}"] == "reproduced"
    assert verdicts["table of temporal assistance, TinyImageNet"] == "reproduced"


def test_a_confirmation_that_was_not_run_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows say so, and the scorecard has a failing row that names them."""
    replace_confirmation(monkeypatch, [])
    waiting = [c.where for c in all_claims() if c.verdict == "not run yet"]
    assert "figure of accuracy drops (c), coherent streams" in waiting
    assert "table of temporal assistance, TinyImageNet" in waiting
    row = next(row for row in scorecard_rows() if row.what == "claims: rows not run yet")
    assert row.passed is False
    assert "TinyImageNet" in row.measured


def test_the_committed_page_is_the_one_that_the_results_give() -> None:
    """The claims page in the documentation is not edited and not older than the results."""
    page = Path(__file__).parents[2] / "benchmark/docs/claims.md"
    assert page.read_text("utf-8") == claims_page()["claims.md"]


def test_links_of_the_claims_page_lead_to_sections() -> None:
    """Every anchor that a row links to is a heading of the results page."""
    headings = re.findall(r"^## (.+)$", results_page()["index.md"], re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}
    linked = set(re.findall(r"index\.md#([\w-]+)", claims_page()["claims.md"]))
    assert linked <= anchors


def test_a_chart_names_every_line_in_the_order_of_their_ends() -> None:
    """The legend is read from the top, as the lines end."""
    x, y = Axis(1, 2, "x", [(1, "1"), (2, "2")]), Axis.linear(0.0, 1.0, "y")
    text = line_chart("t", x, y, {"low": [0.3, 0.1], "high": [0.1, 0.5]})
    assert text.count("<polyline") == 2
    assert text.index("● high") < text.index("● low")


def test_pages_are_made_from_results_alone() -> None:
    """Generating twice gives the same page, with every committed task on it."""
    page = results_page()
    assert page == results_page()
    for task in results.TASKS:
        if results.rows("detection", task):
            assert results.TITLES[task] in page["index.md"]


def test_streams_without_a_drop_are_not_called_unrun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no accuracy can fall below the limit the row says so; it is not "not run yet"."""
    undefined = [
        row | {"drop AUPRC by severity": dict.fromkeys("12345")}
        for row in confirmation_rows("coherent")
    ]
    replace_confirmation(monkeypatch, undefined)
    where = "figure of accuracy drops (c), coherent streams"
    (claim,) = (claim for claim in all_claims() if claim.where == where)
    assert claim.verdict == "not testable here"
    assert "no stream has a drop" in claim.measured
