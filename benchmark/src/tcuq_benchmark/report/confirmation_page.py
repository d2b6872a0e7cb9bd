# SPDX-License-Identifier: Apache-2.0
"""The confirmation's page: each claim of its protocol with intervals and a verdict."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tcuq_benchmark.experiments.result import read_result
from tcuq_benchmark.experiments.trials import TRIALS
from tcuq_benchmark.report.comparisons import Measure, compare
from tcuq_benchmark.report.confirmed_promises import promise_rows
from tcuq_benchmark.report.results import mean_and_spread, rows, table, text, values
from tcuq_benchmark.report.verdict import Comparison, fewest_seeds, verdict_of
from tcuq_benchmark.scores.table import SCORES, SINGLE_PASS

TASK = "tinyimagenet"
KINDS = {"iid": "shuffled", "coherent": "coherent"}
WORDS = {"reproduced": "confirmed", "refuted": "refuted", "not run yet": "not run whole"}
TCUQ, MARGIN, WITHIN = "tcuq assisted", -0.01, -0.02
LEVELS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A claim of the protocol on one kind of stream, and its comparisons by group."""

    number: int
    claim: str
    groups: Mapping[str, Sequence[Comparison]]

    def cells(self) -> list[str]:
        """Return the row of the table."""
        seeds = fewest_seeds(self.groups)
        word = WORDS.get(verdict_of(self.groups), f"undecided with {seeds} seeds")
        word = word if seeds else "not measurable"
        return [str(self.number), self.claim, "<br>".join(self._measured()), f"**{word}**"]

    def _measured(self) -> Iterator[str]:
        if not fewest_seeds(self.groups):
            yield "no window's accuracy dropped"
            return
        for group, comparisons in self.groups.items():
            for one in comparisons:
                name = " ".join(part for part in (group, one.name) if part)
                yield f"{name}: {one.interval()}" if one.differences else f"{name}: not run"


def confirmation_page() -> dict[str, str]:
    """Return the page by name; empty before the run."""
    if not rows("detection", TASK):
        return {}
    head = text("confirmation").format(missing=_missing())
    parts = [head, _provenance(), table(["", "claim", "measured", "verdict"], _endpoints())]
    parts += ["## Every score\n", text("confirmation_scores"), _scores()]
    return {"confirmation.md": "\n".join(parts)}


def _provenance() -> str:
    detection = read_result("detection", TASK)
    return (
        f"Run on {detection['date']} with commit `{detection['code']}`. The accuracy below which a"
        f" window of 100 steps counts as a drop: {_limits('iid')} in shuffled and"
        f" {_limits('coherent')} in coherent streams, where below 0 means never.\n"
    )


def _limits(kind: str) -> str:
    limits = values("tuned", TASK, "limit of accuracy", kind=kind, score="max_prob")
    return f"{min(limits):.2f} to {max(limits):.2f}"


def _missing() -> str:
    """Return which of the protocol's networks were not trained."""
    missing = [
        name
        for name in ("exits", "dropout")
        if not values("detection", TASK, "drop AUPRC", score=name)
    ]
    names = " and ".join(f"`{name}`" for name in missing)
    return f" Not run, against the protocol: networks {names}." if missing else ""


def _endpoints() -> list[list[str]]:
    cells = [endpoint.cells() for endpoint in endpoints()] + list(promise_rows())
    return sorted(cells, key=lambda row: int(row[0]))


def endpoints() -> Iterator[Endpoint]:
    """Yield all claims that are paired differences."""
    for kind, word in KINDS.items():
        yield _endpoint(
            1,
            f"recommended is above tcuq, both tuned, {word}",
            [_tuned("drop AUPRC", kind, "recommended", "tcuq")],
        )
        yield _endpoint(
            2,
            f"with labels never worse, {word}",
            [
                _default("drop AUPRC", kind, "recommended labelled", other, MARGIN)
                for other in ("tcuq", "recommended")
            ],
        )
        yield _endpoint(
            3,
            f"as good as the best single pass at telling wrong from right, {word}",
            [
                _default("failure AUROC", kind, "recommended", other, MARGIN)
                for other in SINGLE_PASS
            ],
        )
        yield Endpoint(7, f"paper: TCUQ leads at every severity, both tuned, {word}", _lead(kind))
        others = [name for name in SCORES if name != TCUQ]
        comparisons = [_default("OOD AUROC", kind, TCUQ, other, WITHIN) for other in others]
        yield _endpoint(
            9,
            f"paper: TCUQ within 0.02 of the best on OOD samples, {word}",
            [one for one in comparisons if one.differences],
        )
    yield _endpoint(4, "novelty finds OOD samples, coherent", _novelty())
    yield _endpoint(8, "paper: assistance lowers NLL and Brier, raises F1", _assistance())
    temporal = Measure("drop AUPRC", experiment="ablations", key="variant")
    yield _endpoint(
        10,
        "paper: temporal signals raise the AUPRC, coherent",
        [compare(TASK, temporal, "tcuq", "without any temporal signal", name="refit")],
    )


def _endpoint(number: int, claim: str, comparisons: Sequence[Comparison]) -> Endpoint:
    return Endpoint(number, claim, {"": comparisons})


def _default(measure: str, kind: str, ours: str, theirs: str, least: float = 0.0) -> Comparison:
    name = f"against {theirs}"
    return compare(TASK, Measure(measure, kind), ours, theirs, name=name, least=least)


def _tuned(measure: str, kind: str, ours: str, theirs: str) -> Comparison:
    chosen = Measure(measure, kind, experiment="tuned")
    return compare(TASK, chosen, ours, theirs, name=f"against {theirs}")


def _novelty() -> list[Comparison]:
    """Compare novelty, by which the default ranks OOD samples, with the risk of two baselines."""
    return [
        _default("OOD AUROC", "coherent", "recommended", "max_prob"),
        _default("OOD AUROC", "coherent", "recommended", "mahalanobis", MARGIN),
    ]


def _lead(kind: str) -> dict[str, list[Comparison]]:
    return {
        f"severity {level}": [
            _tuned(f"drop AUPRC by severity/{level}", kind, TCUQ, other)
            for other in ("ensemble", "exits", "max_prob")
        ]
        for level in LEVELS
    }


def _assistance() -> list[Comparison]:
    return [
        compare(
            TASK, Measure(f"probabilities/{column}", "iid"), TCUQ, "max_prob", name=column
        )
        for column in ("NLL", "Brier / classes", "F1")
    ]  # fmt: skip


def _scores() -> str:
    head = ["score"]
    for word in KINDS.values():
        head += [f"drop, {word}", f"drop tuned, {word}", f"failures, {word}", f"OOD, {word}"]
    body = []
    for name in SCORES:
        if not values("detection", TASK, "drop AUPRC", score=name) and not values(
            "detection", TASK, "OOD AUROC", score=name
        ):
            continue
        cells = [name]
        for kind in KINDS:
            tuned = values("tuned", TASK, "drop AUPRC", score=name, kind=kind)
            plain = [
                values("detection", TASK, measure, score=name, kind=kind)
                for measure in ("drop AUPRC", "failure AUROC", "OOD AUROC")
            ]
            drop, failures, ood = map(mean_and_spread, plain)
            cells += [drop, mean_and_spread(tuned) if name in TRIALS else "–", failures, ood]
        body.append(cells)
    return table(head, body)
