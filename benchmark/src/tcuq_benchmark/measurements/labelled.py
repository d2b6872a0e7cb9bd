# SPDX-License-Identifier: Apache-2.0
"""What labels bring: the labelled fit beside the paper's score, the default and single passes.

Accuracy-drop AUPRC on coherent and shuffled streams of seven sets, fitted on the same kind of
stream and on the other; failure AUROC in distribution. Run it after the base networks are trained.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from results.result import Row, arguments, report
from tcuq.autocorrelation import autocorrelation_time
from tcuq.evaluation.bootstrap import block_interval
from tcuq.evaluation.measures import auroc
from tcuq.evaluation.selection import BLOCK_TIMES
from tcuq_benchmark.experiments.detection import mean_drop_auprc
from tcuq_benchmark.experiments.variants import load_variant, run_scenario, trained_seeds
from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scenarios.scenario import KINDS, Kind, Name
from tcuq_benchmark.scores.score import Score
from tcuq_benchmark.scores.table import SCORES, SINGLE_PASS

PAPER, DEFAULT, LABELLED = "tcuq", "recommended", "recommended labelled"
OURS = (PAPER, DEFAULT, LABELLED)
SETS = ("mnist", "fashion_mnist", "hapt", "cifar10", "speech", "gas", "watch")
SCENARIOS: tuple[Name, ...] = ("calibration", "development", "in_distribution", "drop")
MOST_LOSS = 0.01  # on one set, and of failure AUROC
MOST_TRANSFER_LOSS = 0.03
ROUNDS = 300
LIBRARIES = ("scikit-learn", "scipy")
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Key = tuple[str, str, Kind]  # score, set, kind


@dataclass(frozen=True, slots=True, eq=False)
class InDistribution:
    """One seed's in-distribution stream: the errors, and each score's risk."""

    wrong: Bools
    risk: Mapping[str, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """By score, set and kind, one value per seed; `crossed` is fitted on the other kind."""

    drops: dict[Key, list[float]]
    crossed: dict[Key, list[float]]
    failures: dict[tuple[str, Kind], list[InDistribution]]


def measure_sets(tasks: Iterable[str], seeds: int | None) -> Figures:
    """Return all figures; `seeds` limits the number of networks per set."""
    figures = Figures({}, {}, {})
    for task in tasks:
        for seed in trained_seeds(task)[:seeds]:
            print(f"{task} seed {seed}", file=sys.stderr, flush=True)
            _measure_seed(figures, task, seed)
    return figures


def _measure_seed(figures: Figures, task: str, seed: int) -> None:
    runs = {
        kind: {name: run_scenario(task, name, kind, seed) for name in SCENARIOS} for kind in KINDS
    }
    scores = {
        (name, kind): _fitted(name, runs[kind]) for kind in KINDS for name in (*SINGLE_PASS, *OURS)
    }
    for kind in KINDS:
        other, home = KINDS[1 - KINDS.index(kind)], runs[kind]
        for name in OURS:
            for fitted, values in ((kind, figures.drops), (other, figures.crossed)):
                score = scores[name, fitted]
                value = mean_drop_auprc(score, home["calibration"], home["drop"])
                values.setdefault((name, task, kind), []).append(value)
        at_home = {name: scores[name, kind] for name in (*SINGLE_PASS, *OURS)}
        failures = _in_distribution(home["in_distribution"], at_home)
        figures.failures.setdefault((task, kind), []).append(failures)


def _fitted(name: str, runs: Mapping[Name, ScenarioRun]) -> Score:
    score = SCORES[name].make()
    score.fit(runs["calibration"], runs["development"])
    return score


def _in_distribution(run: ScenarioRun, scores: Mapping[str, Score]) -> InDistribution:
    known = run.labels >= 0
    predictions = {name: score.predict(run) for name, score in scores.items()}
    wrong = predictions["max_prob"].label != run.labels
    return InDistribution(wrong[known], {n: p.risk[known] for n, p in predictions.items()})


def mean_interval(by_set: Sequence[Sequence[float] | Floats]) -> tuple[float, float, float]:
    """Return the mean over sets of paired differences, with Student's 95 % interval over seeds."""
    means = [float(np.mean(values)) for values in by_set]
    variance = sum(float(np.var(v, ddof=1)) / len(v) for v in by_set if len(v) > 1)
    freedom = sum(len(values) - 1 for values in by_set)
    centre = float(np.mean(means))
    if freedom == 0:
        return centre, float("nan"), float("nan")
    reach = float(student.ppf(0.975, freedom)) * variance**0.5 / len(by_set)
    return centre, centre - reach, centre + reach


def _text(interval: tuple[float, float, float]) -> str:
    centre, low, high = interval
    return f"{centre:+.3f} ({low:+.3f} to {high:+.3f})"


def _differences(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [a - b for a, b in zip(one, other, strict=True)]


def drop_rows(figures: Figures, tasks: Sequence[str], kind: Kind) -> Iterator[Row]:
    """Yield the labelled fit beside the paper's score and the default, on one kind of stream."""
    drops = figures.drops
    for other in (PAPER, DEFAULT):
        pairs = [_differences(drops[LABELLED, t, kind], drops[other, t, kind]) for t in tasks]
        interval = mean_interval(pairs)
        what = f"labelled minus {other}, {kind}: mean accuracy-drop AUPRC of {len(tasks)} sets"
        yield Row(what, "≥ 0", _text(interval), interval[0] >= 0)
    worst: list[tuple[tuple[float, float, float], str]] = []
    for task in tasks:
        better = max((PAPER, DEFAULT), key=lambda name: float(np.mean(drops[name, task, kind])))
        pair = _differences(drops[LABELLED, task, kind], drops[better, task, kind])
        worst.append((mean_interval([pair]), f"{task}, against {better}"))
    interval, where = min(worst)
    below = ", ".join(f"{name} {value[0]:+.3f}" for value, name in worst if value[0] < -MOST_LOSS)
    yield Row(
        f"labelled minus the better of both, {kind}: worst set",
        f"≥ −{MOST_LOSS}",
        f"{_text(interval)}, {where}" + (f"; below: {below}" if below else ""),
        interval[0] >= -MOST_LOSS,
    )


def transfer_row(figures: Figures, tasks: Sequence[str], kind: Kind, name: str) -> Row:
    """Compare a score fitted on the other kind of stream with one fitted on the same."""
    pairs = [
        _differences(figures.crossed[name, t, kind], figures.drops[name, t, kind]) for t in tasks
    ]
    interval = mean_interval(pairs)
    other = KINDS[1 - KINDS.index(kind)]
    ours = name == LABELLED
    return Row(
        f"{name}: fitted on {other} and run on {kind}, minus fitted on {kind}",
        f"≥ −{MOST_TRANSFER_LOSS}" if ours else "–",
        _text(interval),
        interval[0] >= -MOST_TRANSFER_LOSS if ours else None,
    )


def failure_rows(figures: Figures, tasks: Sequence[str], kind: Kind, name: str) -> Iterator[Row]:
    """Yield failure AUROC beside the best single pass of each set; blocks are resampled."""
    for task in tasks:
        seeds = figures.failures[task, kind]
        best = max(SINGLE_PASS, key=lambda single: _mean_auroc(seeds, single))
        centre = _mean_auroc(seeds, name) - _mean_auroc(seeds, best)
        low, high = _bootstrap(seeds, name, best)
        yield Row(
            f"failure AUROC in distribution, {name}, {kind}, {task}: minus {best}",
            f"lower 95 % limit ≥ −{MOST_LOSS}",
            _text((centre, low, high)),
            low >= -MOST_LOSS,
        )


def _mean_auroc(seeds: Sequence[InDistribution], name: str) -> float:
    return float(np.mean([auroc(seed.wrong, seed.risk[name]) for seed in seeds]))


def _bootstrap(seeds: Sequence[InDistribution], one: str, other: str) -> tuple[float, float]:
    """Return the 95 % interval of the mean AUROC difference over resampled blocks."""
    lengths = [len(seed.wrong) for seed in seeds]
    seed_of = np.repeat(np.arange(len(seeds)), lengths)
    wrong = np.concatenate([seed.wrong for seed in seeds])
    risks = [np.concatenate([seed.risk[name] for seed in seeds]) for name in (one, other)]
    time = autocorrelation_time([seed.risk[one] for seed in seeds])

    def difference(chosen: NDArray[np.int64]) -> float:
        values = []
        for number in range(len(seeds)):
            at = chosen[seed_of[chosen] == number]
            values.append(auroc(wrong[at], risks[0][at]) - auroc(wrong[at], risks[1][at]))
        return float(np.mean(values))

    rng = np.random.default_rng(0)
    return block_interval(difference, len(wrong), int(BLOCK_TIMES * time), ROUNDS, rng)


def main() -> None:
    """Measure and report."""
    args = arguments()
    tasks = ("watch",) if args.short else SETS
    figures = measure_sets(tasks, 2 if args.short else None)
    by_seed = {
        f"{score}, {task}, {kind}": {
            "fitted on the same kind": [round(v, 4) for v in values],
            "fitted on the other": [round(v, 4) for v in figures.crossed[score, task, kind]],
        }
        for (score, task, kind), values in figures.drops.items()
    }
    networks = {
        f"{task}-{seed}": load_variant(task, "base", seed).sha256
        for task in tasks
        for seed in trained_seeds(task)
    }
    more = {"drop_auprc": by_seed, "networks_sha256": networks}
    sys.exit(report("labelled", rows(figures, tasks), LIBRARIES, write=args.write, more=more))


def rows(figures: Figures, tasks: Sequence[str]) -> Iterator[Row]:
    """Yield drops, transfer and failures; coherent streams first."""
    kinds = KINDS[::-1]
    for kind in kinds:
        yield from drop_rows(figures, tasks, kind)
        yield from (transfer_row(figures, tasks, kind, name) for name in reversed(OURS))
    for name in (DEFAULT, LABELLED):
        for kind in kinds:
            yield from failure_rows(figures, tasks, kind, name)


if __name__ == "__main__":
    main()
