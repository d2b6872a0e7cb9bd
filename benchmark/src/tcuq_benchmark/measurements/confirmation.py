# SPDX-License-Identifier: Apache-2.0
"""The second confirmation: six claims on two sets that no choice was made on, by its protocol.

See benchmark/docs/protocol-2.md. There is no short form.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from results.result import Row, measure
from tcuq_benchmark.data.identity import data_sha256
from tcuq_benchmark.measurements.accepted_error import share_interval
from tcuq_benchmark.measurements.alarm_calm import interval, totals
from tcuq_benchmark.measurements.alarm_cases import LEVELS, Case, Figures, saved
from tcuq_benchmark.measurements.confirmation_streams import (
    calm,
    promises,
    ranking,
)
from tcuq_benchmark.measurements.failure_streams import ATC, CBPE, NETWORK, OURS
from tcuq_benchmark.networks.tasks import TASKS
from tcuq_benchmark.networks.zoo import load_network
from tcuq_benchmark.report.verdict import Interval, t_interval
from tcuq_benchmark.scenarios.scenario import KINDS, Kind

SETS = ("fsdd", "bearings")
SEEDS = (0, 1, 2, 3, 4)
WORDS: dict[Kind, str] = {"iid": "shuffled", "coherent": "coherent"}
LIBRARIES = ("scikit-learn", "scipy", "torch", "nannyml")
MARGIN = 0.01
MOST_RATIO: dict[Kind, float] = {"iid": 1.02, "coherent": 1.0}
ACCEPTED_ERRORS, CONFIDENCE = (0.05, 0.1), 0.95
FEWEST_ISSUED = 20
TURNS = (0, 2)  # calibrations of 5,000 and 20,000 steps
RATES = {14: "2^14", 17: "2^17"}
CONFIRMED, REFUTED, UNDECIDED = "confirmed", "refuted", "undecided"
NOT_MEASURABLE = "not measurable"
COMMITS = {"protocol": "4bced87", "run": "e1ea6fb"}


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim on one set and kind of stream: what must hold, the figure, its range, the verdict."""

    number: int
    claim: str
    task: str
    streams: str
    must: str
    figure: str
    spread: str
    verdict: str

    def row(self) -> Row:
        """Return the line of the scorecard; only a confirmed claim holds."""
        what = f"{self.task}, {self.streams}: {self.claim}"
        measured = f"{self.figure} ({self.spread}): {self.verdict}"
        return Row(what, self.must, measured, self.verdict == CONFIRMED)


def by_seed(
    compute: Callable[..., Figures], task: str, kind: Kind, *settings: float
) -> list[Figures]:
    """Return the figures of every network."""
    return [saved(compute, Case(task, seed), kind, *settings) for seed in SEEDS]


def verdict_above(span: Interval, least: float, *, strictly: bool = False) -> str:
    """Return the verdict on the claim that a difference is at least `least`."""
    if np.isnan([span.low, span.high]).any():
        return NOT_MEASURABLE
    if span.low > least or (span.low == least and not strictly):
        return CONFIRMED
    return REFUTED if span.high < least else UNDECIDED


def findings(task: str, kind: Kind) -> Iterator[Finding]:
    """Yield all claims on one set and kind of stream."""
    figures = by_seed(ranking, task, kind)
    yield from ranked_failures(figures, task, kind)
    yield risk_coverage(figures, task, kind)
    yield unknown_things(figures, task, kind)
    yield from estimates(figures, task, kind)
    for most in ACCEPTED_ERRORS:
        yield accepted_error(by_seed(promises, task, kind, most), task, kind, most)
    yield from false_alarms(task, kind)


def difference(
    number: int,
    claim: str,
    where: tuple[str, Kind],
    values: Sequence[float],
    least: float,
    *,
    strictly: bool = False,
    factor: float = 1.0,
) -> Finding:
    """Return a claim on a paired difference by seed; `factor` scales what is shown."""
    span = t_interval(values)
    digits = 1 if factor > 1 else 3
    mean, low, high = (f"{factor * v:+.{digits}f}" for v in (span.mean, span.low, span.high))
    unit = " points" if factor > 1 else ""
    sign = ">" if strictly else "≥"
    return Finding(
        number,
        claim,
        where[0],
        WORDS[where[1]],
        f"{sign} {least:g}",
        f"{mean}{unit}",
        f"{low} to {high}",
        verdict_above(span, least, strictly=strictly),
    )


def gap(figures: Mapping[str, float]) -> float:
    """Return how far ours is above the baseline."""
    return figures["ours"] - figures["other"]


def mean_gap(by_condition: Mapping[str, Mapping[str, float]]) -> float:
    """Return the mean over conditions of how far ours is above the baseline."""
    return float(np.mean([gap(one) for one in by_condition.values()]))


def ranked_failures(figures: Sequence[Figures], task: str, kind: Kind) -> Iterator[Finding]:
    """Yield claim 1: failure AUROC minus that of 1 - confidence."""
    gaps = {
        "in distribution": [gap(one["in distribution"]) for one in figures],
        "natural shift": [mean_gap(one["natural shift"]) for one in figures],
    }
    for where, values in gaps.items():
        claim = f"failures ranked no worse than by 1 - confidence, {where}"
        yield difference(1, claim, (task, kind), values, -MARGIN)
    if kind == "coherent":
        for where, values in gaps.items():
            claim = f"failures ranked better than by 1 - confidence, {where}"
            yield difference(1, claim, (task, kind), values, 0.0, strictly=True)


def risk_coverage(figures: Sequence[Figures], task: str, kind: Kind) -> Finding:
    """Return claim 2: the geometric mean over conditions of the ratio of areas."""
    logs = [float(np.mean(np.log([cell["ratio"] for cell in one["cells"]]))) for one in figures]
    span, most = t_interval(logs), MOST_RATIO[kind]
    mean, low, high = (f"{np.exp(v):.3f}" for v in (span.mean, span.low, span.high))
    opposite = Interval(-span.mean, -span.high, -span.low)
    claim = "area under risk-coverage ÷ that of 1 - confidence, under shifts and faults"
    verdict = verdict_above(opposite, -float(np.log(most)))
    return Finding(
        2, claim, task, WORDS[kind], f"≤ {most:g}", mean, f"{low} to {high}", verdict
    )  # fmt: skip


def unknown_things(figures: Sequence[Figures], task: str, kind: Kind) -> Finding:
    """Return claim 3: OOD AUROC of novelty minus that of 1 - confidence."""
    values = [mean_gap(one["unknown"]) for one in figures]
    claim = "unknown things ranked by novelty no worse than by 1 - confidence"
    return difference(3, claim, (task, kind), values, -MARGIN)


def estimates(figures: Sequence[Figures], task: str, kind: Kind) -> Iterator[Finding]:
    """Yield claim 4: how much smaller the mean error of the estimated accuracy is."""
    for where in ("natural shift", "sensor faults"):
        for rival in (CBPE, ATC):
            values = [
                estimate_mean(one, rival, where) - estimate_mean(one, OURS, where)
                for one in figures
            ]
            claim = f"error of the estimated accuracy below that of {rival}, {where}"
            at = (task, kind)
            yield difference(4, claim, at, values, 0.0, strictly=True, factor=100)


def estimate_mean(one: Figures, name: str, where: str) -> float:
    """Return the mean error of an estimate over the natural shifts, or over the faults."""
    natural = where == "natural shift"
    errors = one["estimate errors"][name]
    return float(np.mean([errors[each] for each in errors if (each in one["natural"]) == natural]))


def accepted_error(figures: Sequence[Figures], task: str, kind: Kind, most: float) -> Finding:
    """Return claim 5: broken promises among those issued."""
    splits = [split for one in figures for split in one["splits"]]
    issued = [split for split in splits if split is not None and split["coverage"] > 0]
    broken, count = sum(one["error"] > most for one in issued), len(issued)
    allowed = 1 - CONFIDENCE
    low, high = share_interval(broken, count)
    verdict = UNDECIDED
    if count < FEWEST_ISSUED:
        verdict = NOT_MEASURABLE
    elif broken <= allowed * count:
        verdict = CONFIRMED
    elif low > allowed:
        verdict = REFUTED
    return Finding(
        5,
        f"accepted error of {100 * most:g} % kept",
        task,
        WORDS[kind],
        f"≤ {100 * allowed:.0f} % broken of those issued",
        f"{broken} of {count} broken",
        f"{100 * low:.1f} to {100 * high:.1f} %; {len(splits) - count} of {len(splits)} refused",
        verdict,
    )


def false_alarms(task: str, kind: Kind) -> Iterator[Finding]:
    """Yield claim 6: false alarms at two rates."""
    cases = [
        Case(task, seed, split, turn)
        for seed in SEEDS
        for split in ("parts", "mixed")
        for turn in TURNS
    ]
    counts = {case.name: saved(calm, case, kind) for case in cases}
    steps, *alarms = totals(counts.values())
    for place, h in enumerate(LEVELS):
        if h not in RATES:
            continue
        allowed, count = steps / 2**h, alarms[place]
        low, high = interval(counts, place)
        verdict = CONFIRMED if count <= allowed else REFUTED if low > allowed else UNDECIDED
        yield Finding(
            6,
            f"false alarms at one in {RATES[h]} steps",
            task,
            WORDS[kind],
            f"≤ {allowed:.1f}",
            str(count),
            f"{low:.1f} to {high:.1f}; {steps:,} steps, {len(cases)} calibrations",
            verdict,
        )


def all_findings() -> list[Finding]:
    """Return every claim on both sets and kinds of streams."""
    return [one for task in SETS for kind in KINDS for one in findings(task, kind)]


def rows(_short: bool) -> Iterator[Row]:
    """Yield one row per claim, set and kind of stream."""
    for finding in all_findings():
        yield finding.row()


def base_error(task: str) -> float:
    """Return the share of wrong predictions on the held-out rows of claim 5, all accepted."""
    figures = by_seed(promises, task, "iid", ACCEPTED_ERRORS[-1])
    splits = [split for one in figures for split in one["splits"] if split is not None]
    return float(np.mean([split["base"] for split in splits]))


def details() -> dict[str, object]:
    """Return the findings for the page, accuracies, and hashes of data and networks."""
    accuracy = {
        f"{task}, {WORDS[kind]}": {
            name: round(float(np.mean([one["accuracy"][name] for one in figures])), 4)
            for name in figures[0]["accuracy"]
        }
        for task in SETS
        for kind in KINDS
        for figures in [by_seed(ranking, task, kind)]
    }
    return {
        "claims": [asdict(finding) for finding in all_findings()],
        "accuracy": accuracy,
        "base_error": {task: round(base_error(task), 4) for task in SETS},
        "commits": COMMITS,
        "data_sha256": {task: data_sha256(TASKS[task].source) for task in SETS},
        "networks_sha256": {
            f"{task}-{seed}": load_network(task, NETWORK, seed).sha256
            for task in SETS
            for seed in SEEDS
        },
    }


if __name__ == "__main__":
    measure("confirmation", rows, LIBRARIES, more=details)
