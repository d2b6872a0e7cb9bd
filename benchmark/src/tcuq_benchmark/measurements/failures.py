# SPDX-License-Identifier: Apache-2.0
"""What the default answer is worth beside a softmax threshold: failures, faults, drops, accuracy.

Nine sets, shuffled and coherent streams, every base network that is trained; label-free profiles.
Partial faults leave at least half of the predictions right, total faults fewer. CBPE is NannyML's,
from the benchmark's extra `cbpe`; the short form has its own.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Literal

import numpy as np

from results.result import Row, figure, measure
from tcuq_benchmark.experiments.variants import CONFIRMATION_SEEDS, load_variant
from tcuq_benchmark.measurements.failure_streams import (
    ATC,
    BASELINES,
    CBPE,
    NETWORK,
    OURS,
    OWN_CBPE,
    ROUNDS,
    Figures,
    saved_figures,
)
from tcuq_benchmark.networks.zoo import is_trained
from tcuq_benchmark.scenarios.scenario import KINDS, Kind

SETS = (
    "gas", "hapt", "watch", "digits", "speech", "mnist", "fashion_mnist", "cifar10", "tinyimagenet",
)  # fmt: skip
SHORT_SETS = ("digits", "gas")
WORDS: dict[Kind, str] = {"iid": "shuffled", "coherent": "coherent"}
LEAST_FAILURE: dict[Kind, float] = {"iid": -0.003, "coherent": 0.015}
LEAST_OF_SET = -0.01
MIN_CELLS, MIN_SETS = 60, 6
MOST_RATIO: dict[Kind, float] = {"iid": 0.98, "coherent": 0.80}
MIN_BETTER, MOST_WORST = 0.9, 1.2
MOST_POINTS, LEAST_CORRELATION = 12, 0.87
LEAST_NOVELTY, NOVELTY_SLACK = 0.93, 0.01
LIBRARIES = ("scikit-learn", "scipy", "nannyml")
BySet = Mapping[str, Sequence[Figures]]  # one entry per network


@dataclass(frozen=True, slots=True)
class Cell:
    """One network under one fault: the ratio of areas under risk-coverage, ours to max-prob's."""

    name: str
    task: str
    form: str
    ratio: float
    partial: bool


def trained_networks(task: str) -> tuple[int, ...]:
    """Return the seeds whose base network is trained."""
    return tuple(seed for seed in CONFIRMATION_SEEDS if is_trained(task, NETWORK, seed))


def measured_sets(*, short: bool) -> dict[Kind, dict[str, list[Figures]]]:
    """Return the figures of every network by kind of stream and set."""
    figures: dict[Kind, dict[str, list[Figures]]] = {kind: {} for kind in KINDS}
    for task in SHORT_SETS if short else SETS:
        for seed in trained_networks(task)[: 1 if short else None]:
            for kind in KINDS:
                entry = saved_figures(task, kind, seed, own_cbpe=short) | {"seed": seed}
                figures[kind].setdefault(task, []).append(entry)
    return figures


def rows(short: bool) -> Iterator[Row]:
    """Yield failures in distribution, faults, drops, estimated accuracy and novelty."""
    figures = measured_sets(short=short)
    for kind in KINDS:
        for baseline in BASELINES:
            yield from failure_rows(figures[kind], kind, baseline)
    for kind in KINDS:
        yield from cell_rows(figures[kind], kind)
    for kind in KINDS:
        yield drop_row(figures[kind], kind)
    yield from estimate_rows(figures, OWN_CBPE if short else CBPE)
    for kind in KINDS:
        yield from novelty_rows(figures[kind], kind)


def mean_of_sets(by_set: BySet, *keys: str) -> float:
    """Return the mean over sets of the mean over networks of one figure, found by its keys."""
    return float(np.mean([mean_of_networks(many, *keys) for many in by_set.values()]))


def mean_of_networks(networks: Sequence[Figures], *keys: str) -> float:
    """Return the mean over networks of one figure."""
    return float(np.mean([reduce(getitem, keys, one) for one in networks]))


def mean_of_kinds(
    figures: Mapping[Kind, BySet], group: str, name: str, *, percent: bool = False
) -> tuple[float, str]:
    """Return the mean over kinds of streams of one figure, and the figure of each kind as text."""
    factor, digits = (100, 1) if percent else (1, 3)
    each = {kind: factor * mean_of_sets(sets, group, name) for kind, sets in figures.items()}
    text = ", ".join(f"{WORDS[kind]} {value:.{digits}f}" for kind, value in each.items())
    return float(np.mean(list(each.values()))), text


def failure_rows(by_set: BySet, kind: Kind, baseline: str) -> Iterator[Row]:
    """Yield the difference of failure AUROC to a baseline: mean of sets, and the worst set."""
    what = f"failure AUROC in distribution minus {baseline}, {WORDS[kind]}"
    ours, other = (mean_of_sets(by_set, "failures", baseline, name) for name in ("ours", "other"))
    least = LEAST_FAILURE[kind]
    yield Row(
        f"{what}: mean of {len(by_set)} sets",
        f"≥ {least:+.3f}",
        f"{ours - other:+.4f} ({ours:.3f} and {other:.3f})",
        ours - other >= least,
    )
    intervals = {task: set_interval(many, baseline) for task, many in by_set.items()}
    worst = min(intervals, key=lambda task: intervals[task][1])
    below = [task for task, (_, high) in intervals.items() if high < LEAST_OF_SET]
    low, high = intervals[worst]
    by_name = ", ".join(
        f"{task} {set_difference(many, baseline):+.3f}" for task, many in by_set.items()
    )
    yield Row(
        f"{what}: sets whose 95 % interval is wholly below {LEAST_OF_SET}",
        "none",
        f"{', '.join(below) or 'none'}; lowest {worst}, {low:+.3f} to {high:+.3f} ({by_name})",
        not below,
    )


def set_difference(networks: Sequence[Figures], baseline: str) -> float:
    """Return a set's mean difference of failure AUROC."""
    ours, other = (mean_of_networks(networks, "failures", baseline, n) for n in ("ours", "other"))
    return ours - other


def set_interval(networks: Sequence[Figures], baseline: str) -> tuple[float, float]:
    """Return the 95 % interval of a set's mean difference over networks and blocks of streams."""
    resampled = np.array([one["failures"][baseline]["resampled"] for one in networks])
    rng, count = np.random.default_rng(0), len(networks)
    chosen = rng.integers(count, size=(ROUNDS, count)), rng.integers(ROUNDS, size=(ROUNDS, count))
    low, high = np.nanquantile(np.nanmean(resampled[chosen], axis=1), [0.025, 0.975])
    return float(low), float(high)


def cells_of(by_set: BySet) -> list[Cell]:
    """Return every network under every fault."""
    return [
        Cell(
            f"{task} {one['seed']}, {cell['condition']}, {cell['form']}",
            task,
            cell["form"],
            cell["ratio"],
            cell["right"] >= 0.5,
        )
        for task, many in by_set.items()
        for one in many
        for cell in one["cells"]
    ]


def cell_rows(by_set: BySet, kind: Kind) -> Iterator[Row]:
    """Yield how the area under risk-coverage compares with max-prob's under faults."""
    cells = cells_of(by_set)
    partial = [cell for cell in cells if cell.partial]
    total = [cell for cell in cells if not cell.partial]
    what = f"area under risk-coverage ÷ max-prob's, {WORDS[kind]}"
    sets = {cell.task for cell in partial}
    yield Row(
        f"{what}, partial faults: cells and sets",
        f"≥ {MIN_CELLS} and ≥ {MIN_SETS}",
        f"{len(partial)} and {len(sets)}",
        len(partial) >= MIN_CELLS and len(sets) >= MIN_SETS,
    )
    mean, most = geometric_mean(partial), MOST_RATIO[kind]
    parts = ", ".join([*means_by(partial, "form"), *means_by(partial, "task")])
    yield Row(
        f"{what}, partial faults: geometric mean", f"≤ {most}", f"{mean:.3f} ({parts})",
        mean <= most,
    )  # fmt: skip
    better = float(np.mean([cell.ratio < 1 for cell in partial]))
    worst = max(partial, key=lambda cell: cell.ratio)
    must, holds = (
        (f"≥ {MIN_BETTER:.0%}", better >= MIN_BETTER)
        if kind == "coherent"
        else (f"worst ≤ {MOST_WORST}", worst.ratio <= MOST_WORST)
    )
    measured = f"{better:.1%}, worst {worst.ratio:.2f} ({worst.name})"
    yield Row(f"{what}, partial faults: cells below 1", must, measured, holds)
    if total:
        measured = f"{geometric_mean(total):.3f} of {len(total)} cells"
        yield figure(f"{what}, total faults: geometric mean", measured)


def means_by(cells: Sequence[Cell], field: Literal["form", "task"]) -> Iterator[str]:
    """Yield the geometric mean of the cells of each form or set."""
    for value in dict.fromkeys(getattr(cell, field) for cell in cells):
        chosen = [cell for cell in cells if getattr(cell, field) == value]
        yield f"{value} {geometric_mean(chosen):.3f}"


def geometric_mean(cells: Sequence[Cell]) -> float:
    """Return the geometric mean of the cells' ratios."""
    return float(np.exp(np.mean(np.log([cell.ratio for cell in cells]))))


def drop_row(by_set: BySet, kind: Kind) -> Row:
    """Return the accuracy-drop AUPRC of the expected error, mean of sets, beside max-prob's."""
    dropped = {
        task: [one for one in many if math.isfinite(one["drops"][OURS])]
        for task, many in by_set.items()
    }
    sets = {task: many for task, many in dropped.items() if many}
    ours, other = (mean_of_sets(sets, "drops", name) for name in (OURS, "max_prob"))
    what = f"accuracy-drop AUPRC of the expected error, {WORDS[kind]}"
    without = "".join(f"; no drop in {task}" for task in by_set if task not in sets)
    return figure(f"{what}: mean of sets", f"{ours:.3f}; max_prob {other:.3f}{without}")


def estimate_rows(figures: Mapping[Kind, BySet], cbpe: str) -> Iterator[Row]:
    """Yield the errors and rank correlations of three estimates of accuracy."""
    for name in (OURS, cbpe, ATC):
        error, by_kind = mean_of_kinds(figures, "estimate errors", name, percent=True)
        yield Row(
            f"estimated accuracy under faults, {name}: mean error, both kinds",
            f"≤ {MOST_POINTS} points" if name == OURS else "stated",
            f"{error:.1f} points ({by_kind})",
            error <= MOST_POINTS if name == OURS else None,
        )
    for name in (OURS, cbpe, ATC):
        rank, by_kind = mean_of_kinds(figures, "rank correlation", name)
        yield Row(
            f"estimated and true accuracy of 100 steps, {name}: rank correlation, both kinds",
            f"≥ {LEAST_CORRELATION}" if name == OURS else "stated",
            f"{rank:.3f} ({by_kind})",
            rank >= LEAST_CORRELATION if name == OURS else None,
        )


def novelty_rows(by_set: BySet, kind: Kind) -> Iterator[Row]:
    """Yield the OOD AUROC of novelty: mean of sets, and the set least ahead of max-prob."""
    sets = {task: many for task, many in by_set.items() if "ood" in many[0]}
    if not sets:
        return
    mean, other = (mean_of_sets(sets, "ood", name) for name in ("novelty", "max_prob"))
    what = f"OOD AUROC of novelty, {WORDS[kind]}"
    yield Row(
        f"{what}: mean of {len(sets)} sets",
        f"≥ {LEAST_NOVELTY}",
        f"{mean:.3f}; max_prob {other:.3f}",
        mean >= LEAST_NOVELTY,
    )
    ahead = {
        task: mean_of_networks(many, "ood", "novelty") - mean_of_networks(many, "ood", "max_prob")
        for task, many in sets.items()
    }
    worst = min(ahead, key=lambda task: ahead[task])
    by_name = ", ".join(
        f"{t} {mean_of_networks(many, 'ood', 'novelty'):.3f}" for t, many in sets.items()
    )
    yield Row(
        f"{what}: least ahead of max_prob",
        f"≥ −{NOVELTY_SLACK}",
        f"{ahead[worst]:+.3f} ({worst}); novelty: {by_name}",
        ahead[worst] >= -NOVELTY_SLACK,
    )


def details() -> dict[str, object]:
    """Return the hashes of the networks, and each set's figures as means over its networks."""
    hashes = {
        f"{task}-{seed}": load_variant(task, NETWORK, seed).sha256
        for task in SETS
        for seed in trained_networks(task)
    }
    figures = measured_sets(short=False)
    by_set = {
        f"{task}, {WORDS[kind]}": {
            group: {name: rounded(mean_of_networks(many, group, name)) for name in many[0][group]}
            for group in ("drops", "estimate errors", "rank correlation", "ood")
            if group in many[0]
        }
        for kind in KINDS
        for task, many in figures[kind].items()
    }
    return {"networks_sha256": hashes, "by_set": by_set}


def rounded(value: float) -> float | None:
    """Return four decimals; None for a figure that does not exist."""
    return round(value, 4) if math.isfinite(value) else None


if __name__ == "__main__":
    measure("failures", rows, LIBRARIES, more=details)
