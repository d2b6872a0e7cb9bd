# SPDX-License-Identifier: Apache-2.0
"""False alarms on millions of calm steps over many calibrations, beside the number allowed.

Intervals are bootstrapped over recordings; where a set has no recordings, over calibrations.
`--confirm` runs one of the sets that no choice about the alarm was made on.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import poisson

import tcuq
from results.result import Row, parser, report
from tcuq_benchmark.detectors.recording_pool import RecordingPool
from tcuq_benchmark.measurements.alarm_cases import (
    CONFIRMATION,
    DEVELOPMENT,
    LEVELS,
    LIBRARIES,
    Calm,
    Case,
    Figures,
    Ints,
    calibration,
    calm,
    cases,
    looped,
    pool_of,
    profiles,
    provenance,
    saved,
    trained,
)
from tcuq_benchmark.measurements.alarm_hapt import activity_pool, with_health
from tcuq_benchmark.measurements.alarm_hapt_network import SHORT_EPOCHS

STEPS = 80_000  # after each calibration
FEW_PEOPLE, FEW_SPLITS, SHORT_SPLITS = 5, 8, 4
ROUNDS = 2_000
UNLIKELY = 0.01
FEW = ", calibrated on five people only"
BROKEN = "calibrations that break the promise (p < 0.01 at any h)"
BROKEN_FEW = f"of five people only, {BROKEN}"
Counts = dict[str, Figures]  # by case: steps and alarms by recording


def calm_counts(case: Case) -> Figures:
    """Count false alarms after a calibration of a case."""
    return false_alarms(calibration(case), calm(case, STEPS, 2 * case.number + 1))


def few_people(case: Case) -> Figures:
    """Count them after calibration on five random people of HAPT, on all others."""
    pool = pool_of(case.task, case.network)
    assert isinstance(pool, RecordingPool)  # noqa: S101 - HAPT is recordings
    rng = np.random.default_rng([case.network, case.turn, 12])
    chosen = rng.permutation(np.unique(pool.person))[:FEW_PEOPLE]
    known = np.flatnonzero(np.isin(pool.person, chosen))
    others = np.setdiff1d(np.arange(len(pool.person)), known)
    return _others(pool, known, others, case)


def short_people(case: Case) -> Figures:
    """Count them on other people than calibration's, with the network that trains in seconds."""
    pool = activity_pool(SHORT_EPOCHS)
    return _others(pool, *pool.split("parts", case.number), case)


def _others(pool: RecordingPool, known: Ints, others: Ints, case: Case) -> Figures:
    stream, run = pool.calibration(known, 0, 0), looped(pool, others, STEPS, case.number)
    if case.health:
        stream, run = with_health(stream, known), run.with_health()
    return false_alarms(stream, run)


def false_alarms(stream: tcuq.Stream, run: Calm) -> Figures:
    """Count steps and alarms at each h by recording, and alarms by channel."""
    figures: Figures = {"recordings": defaultdict(lambda: [0] * (1 + len(LEVELS)))}
    numbers, counts = np.unique(run.recording, return_counts=True)
    for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
        figures["recordings"][str(number)][0] = count
    for place, (h, profile) in enumerate(profiles(stream).items()):
        alarm = tcuq.Monitor(profile).run(run.stream).alarm
        for number in run.recording[alarm > 0].tolist():
            figures["recordings"][str(number)][1 + place] += 1
        figures[f"channels {h}"] = Counter(str(tcuq.AlarmFlag(int(f))) for f in alarm[alarm > 0])
    return figures


def counts_of(compute: Callable[[Case], Figures], every: Iterable[Case]) -> Counts:
    """Count the false alarms of every case; those of HAPT with input health too."""
    return {case.name: saved(compute, case) for case in both_forms(every)}


def people(networks: Iterable[int], splits: int) -> list[Case]:
    """Return calibrations on some of HAPT's people."""
    return [Case("hapt", network, turn=turn) for network in networks for turn in range(splits)]


def both_forms(every: Iterable[Case]) -> Iterator[Case]:
    """Yield every case, and those of HAPT with input health too."""
    for case in every:
        yield case
        if case.task == "hapt":
            yield replace(case, health=True)


def totals(counts: Iterable[Figures]) -> list[int]:
    """Return the steps and the alarms at each rate."""
    rows = [row for one in counts for row in one["recordings"].values()]
    return [sum(column) for column in zip(*rows, strict=True)]


def interval(counts: Counts, place: int) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the count at one rate, over the units of each set."""
    rng = np.random.default_rng(0)
    sums = np.zeros((ROUNDS, 2))
    total = 0
    for rows in _units(counts).values():
        values = np.array(rows, float)[:, [0, 1 + place]]
        total += values[:, 0].sum()
        sums += values[rng.integers(len(values), size=(ROUNDS, len(values)))].sum(axis=1)
    low, high = np.quantile(sums[:, 1] / sums[:, 0] * total, [0.025, 0.975])
    return float(low), float(high)


def _units(counts: Counts) -> dict[str, list[list[int]]]:
    """Return steps and alarms of each unit by set: a recording, or else a calibration."""
    units: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    for name, figures in counts.items():
        task = name.split()[0].removesuffix("+health")  # of the same recordings
        for number, row in figures["recordings"].items():
            unit = number if len(figures["recordings"]) > 1 else name
            units[task][unit] = units[task].get(unit, 0) + np.array(row)
    return {task: [row.tolist() for row in rows.values()] for task, rows in units.items()}


def broken(counts: Counts) -> int:
    """Count calibrations with more alarms than a Poisson count would have in 1 of 100."""
    count = 0
    for figures in counts.values():
        steps, *alarms = totals([figures])
        tails = [poisson.sf(k - 1, steps / 2**h) for k, h in zip(alarms, LEVELS, strict=True)]
        count += bool(min(tails) < UNLIKELY)
    return count


def promise_rows(counts: Counts, title: str, factor: float = 1.0) -> list[Row]:
    """Return one row for each rate."""
    steps, *alarms = totals(counts.values())
    units = sum(map(len, _units(counts).values()))
    rows = []
    for place, (h, count) in enumerate(zip(LEVELS, alarms, strict=True)):
        low, high = interval(counts, place)
        spread = f"95 % interval {low:.1f} to {high:.1f}" if count else f"in any of {units} units"
        rows.append(
            Row(
                f"false alarms at h = {h}{title}, {steps:,} calm steps, {len(counts)} calibrations",
                f"≤ {factor * steps / 2**h:.2f}",
                f"{count} ({spread})",
                bool(count <= factor * steps / 2**h),
            )
        )
    return rows


def broken_row(counts: Counts, what: str = BROKEN) -> Row:
    """Return the share of calibrations that break the promise."""
    share = broken(counts) / len(counts)
    return Row(
        what, "≤ 5 %", f"{100 * share:.1f} % ({broken(counts)} of {len(counts)})", share <= 0.05
    )


def set_rows(counts: Counts) -> list[Row]:
    """Return counts of each set, for the record."""
    rows = []
    for task in dict.fromkeys(name.split()[0] for name in counts):
        chosen = {name: one for name, one in counts.items() if name.split()[0] == task}
        steps, *alarms = totals(chosen.values())
        allowed = " / ".join(f"{steps / 2**h:.1f}" for h in LEVELS)
        count = " / ".join(str(k) for k in alarms)
        rows.append(
            Row(f"{task}: false alarms at h = 14 / 17 / 20", f"{allowed} allowed", count, None)
        )
    return rows


def main() -> None:
    """Measure and report."""
    options = parser(__doc__)
    options.add_argument("--confirm", choices=CONFIRMATION, help="a set kept for the end")
    args = options.parse_args()
    tasks: Sequence[str] = [args.confirm] if args.confirm else DEVELOPMENT
    counts = counts_of(calm_counts, cases(tasks, ("parts", "mixed"), short=args.short))
    if args.short:
        counts |= counts_of(short_people, people([0], SHORT_SPLITS))
    rows = [*promise_rows(counts, ""), broken_row(counts), *set_rows(counts)]
    if not (args.short or args.confirm):
        few = counts_of(few_people, people(trained("hapt"), FEW_SPLITS))
        rows += [*promise_rows(few, FEW, factor=2.0), broken_row(few, BROKEN_FEW)]
    name = f"alarm_confirm_{args.confirm}" if args.confirm else "alarm_calm"
    more = provenance(tasks) if args.write else {}
    sys.exit(report(name, rows, LIBRARIES, write=args.write, more=more))


if __name__ == "__main__":
    main()
