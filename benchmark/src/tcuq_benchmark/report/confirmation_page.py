# SPDX-License-Identifier: Apache-2.0
"""The confirmation's page: each claim of the second protocol with one figure and a verdict."""

import json
from collections.abc import Sequence
from typing import Any

from results.result import RESULTS
from tcuq_benchmark.report.results import table, text

RESULT = RESULTS / "confirmation.json"
TITLES = {"fsdd": "Spoken digits", "bearings": "Bearings"}
Findings = Sequence[dict[str, Any]]


def confirmation_page() -> dict[str, str]:
    """Return the page by name."""
    parts = _second() if RESULT.is_file() else []
    return {"confirmation.md": "\n".join([*parts, text("first_confirmation")])}


def _second() -> list[str]:
    document = json.loads(RESULT.read_text("utf-8"))
    findings: Findings = document["claims"]
    base = {name: f"{100 * share:.1f} %" for name, share in document["base_error"].items()}
    commits = {f"{name}_commit": commit for name, commit in document["commits"].items()}
    head = text("confirmation").format(
        date=document["date"], summary=summary(findings), **base, **commits
    )
    tables = [f"## {title}\n\n{_verdicts(findings, task)}" for task, title in TITLES.items()]
    accuracy = _accuracy(document["accuracy"])
    return [head, *tables, text("confirmation_accuracy"), accuracy]


def summary(findings: Findings) -> str:
    """Return how many claims have each verdict, in words."""
    verdicts = [finding["verdict"] for finding in findings]
    counts = [f"{verdicts.count(word)} {word}" for word in dict.fromkeys(sorted(verdicts))]
    return f"Of {len(verdicts)} findings: {', '.join(counts)}."


def _verdicts(findings: Findings, task: str) -> str:
    head = ["", "claim", "streams", "must be", "measured", "95 % interval", "verdict"]
    chosen = sorted(
        (finding for finding in findings if finding["task"] == task),
        key=lambda one: (one["number"], one["claim"]),
    )
    columns = ("claim", "streams", "must", "figure", "spread")
    body = [
        [str(one["number"]), *(one[column] for column in columns), f"**{one['verdict']}**"]
        for one in chosen
    ]
    return table(head, body)


def _accuracy(by_streams: dict[str, dict[str, float]]) -> str:
    body = [
        [streams, condition, f"{100 * share:.1f} %"]
        for streams, conditions in by_streams.items()
        if streams.endswith("coherent")
        for condition, share in conditions.items()
    ]
    return table(["set and streams", "steps", "accuracy"], body)
