# SPDX-License-Identifier: Apache-2.0
"""The claims page: every claim of claims.toml with what was measured and a verdict."""

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from results.result import RESULTS
from tcuq_benchmark.corruptions.suite import SEVERITIES
from tcuq_benchmark.report.claims import Claim
from tcuq_benchmark.report.comparisons import METHODS, TCUQ, Measure, compare, delays_against_all
from tcuq_benchmark.report.results import TITLES, probability_kind, rows, table, text
from tcuq_benchmark.report.verdict import Comparison, Groups, Verdict

CLAIMS = Path(__file__).with_name("claims.toml")
STREAMS = {"iid": "shuffled streams", "coherent": "coherent streams"}
FIRMWARE = {
    "step": "instructions a step, Cortex-M4, tcuq, 10 classes: mean",
    "flash": "flash bytes, Cortex-M4, tcuq (tcuq_init and tcuq_step)",
    "ram": "RAM bytes of state, tcuq, 10 classes",
}
NO_DROP = (
    "no stream has a drop: classes follow each other in runs, so that the accuracy of 100 steps"
    " varies by class, and three standard deviations below its mean is below 0"
)
Spec = dict[str, Any]  # an entry of claims.toml


def claims_page() -> dict[str, str]:
    """Return the page, by file name."""
    claims = all_claims()
    counts = Counter(claim.verdict for claim in claims)
    summary = ", ".join(f"{counts[v]} {v}" for v in get_args(Verdict) if counts[v])
    if counts["not run yet"]:
        summary += " (part of the row's comparisons has no result)"
    head = ["in the paper", "its claim", "what we measured", "verdict"]
    body = table(head, [claim.cells() for claim in claims])
    return {"claims.md": f"{text('claims')}\n{summary}.\n\n{body}"}


def all_claims() -> list[Claim]:
    """Return every row, in the paper's order."""
    document = tomllib.loads(CLAIMS.read_text("utf-8"))
    return [claim for spec in document["claims"] for claim in _rows(spec, document["lists"])]


def _rows(spec: Spec, lists: Mapping[str, list[str]]) -> Iterator[Claim]:
    """Yield the row of a claim, or one for each kind of stream."""
    where, claim, note = spec["where"], spec["claim"], spec.get("text", "")
    section = spec.get("section", "")
    if "untested" in spec:
        yield Claim(where, claim, spec["untested"], note.format(**_firmware()), section)
    elif "below" in spec:
        yield Claim(where, claim, _below(**spec["below"]), note, section)
    elif "streams" not in spec:
        yield Claim(where, claim, _groups(spec, None, lists), note, section)
    else:
        for kind, title in STREAMS.items():
            linked = section if isinstance(section, str) else section[kind]
            if _never_drops(spec, kind):
                yield Claim(f"{where}, {title}", claim, "not testable here", NO_DROP, linked)
            else:
                groups = _groups(spec, kind, lists)
                yield Claim(f"{where}, {title}", claim, groups, note, linked)


def _firmware() -> dict[str, str]:
    """Return the cost of the monitor alone."""
    result = json.loads((RESULTS / "firmware.json").read_text("utf-8"))
    measured = {row["what"]: row["measured"] for row in result["rows"]}
    return {name: measured[what] for name, what in FIRMWARE.items()}


def _never_drops(spec: Spec, kind: str) -> bool:
    """Return whether no accuracy can fall below the limit of a drop, at any severity."""
    if "severities" not in spec:
        return False
    ran = [row for row in rows("detection", spec["tasks"][0]) if row["kind"] == kind]
    drops = [value for row in ran for value in row["drop AUPRC by severity"].values()]
    return bool(drops) and all(value is None for value in drops)


def _groups(spec: Spec, kind: str | None, lists: Mapping[str, list[str]]) -> Groups:
    """Return the comparisons of a claim by set, by severity or as they are written out."""
    if "groups" in spec:
        return {
            title: _comparisons(group, group["task"], kind, lists)
            for title, group in spec["groups"].items()
        }
    if "delay_ratio" in spec:
        return delays_against_all(spec["tasks"], str(kind), spec["delay_ratio"])
    if "severities" in spec:
        (task,), (measure,) = spec["tasks"], spec["measures"]
        return {
            f"severity {level}": _comparisons(
                spec | {"measures": [f"{measure}/{level}"]}, task, kind, lists
            )
            for level in SEVERITIES
        }
    return {TITLES[task]: _comparisons(spec, task, kind, lists) for task in spec["tasks"]}


def _comparisons(
    spec: Spec, task: str, kind: str | None, lists: Mapping[str, list[str]]
) -> list[Comparison]:
    """Compare scores on a task, each with its name on the page."""
    experiment, ours = spec.get("experiment", "detection"), spec.get("ours", TCUQ)
    if kind is None and experiment == "detection":
        kind = probability_kind(task)  # order does not matter for probabilities
    key = "variant" if experiment == "ablations" else "score"
    compared = []
    for measure in spec["measures"]:
        column = measure.removeprefix("probabilities/") if len(spec["measures"]) > 1 else ""
        pairs = spec.get("pairs") or [(column, ours, spec.get("theirs"))]
        if "methods" in spec:
            names = spec["methods"]
            listed = lists[names] if isinstance(names, str) else names
            pairs = [(name, ours, METHODS[name]) for name in listed]
        of = Measure(measure, kind, experiment, key)
        least = spec.get("least", 0.0)
        compared += [
            compare(task, of, one, other, name=name, least=least) for name, one, other in pairs
        ]
    return compared


def _below(task: str, score: str, measure: str, most: float) -> Groups:
    """Return how far a score's values lie below a limit, on both kinds of stream."""
    comparisons = []
    for kind, title in STREAMS.items():
        values = Measure(measure, kind).values(task, score)
        below = tuple(most - value for _, value in sorted(values.items()))
        comparisons.append(Comparison(f"{most} minus AUROC, {title}", below))
    return {TITLES[task]: comparisons}
