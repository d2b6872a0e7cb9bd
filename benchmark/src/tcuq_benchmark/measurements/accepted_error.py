# SPDX-License-Identifier: Apache-2.0
"""The promise on the accepted error: how often held-out data break it, and what it covers.

Each split draws rows at random, fits with `accepted_error` on one part and runs the monitor on the
other. A promise is broken if more of the accepted held-out steps are wrong than promised, although
held-out data have a sampling error of their own; shares are of the promises issued. On shifted
streams accepted steps count from the onset to the first alarm. `--confirm` runs the set of the
confirmation's protocol instead.
"""

import sys
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import beta

from results.result import Row, parser, report
from tcuq_benchmark.measurements.accepted_figures import (
    Trial,
    dwelling_outcome,
    shifts_of,
    splits_of,
)
from tcuq_benchmark.measurements.alarm_cases import LIBRARIES, Figures, provenance
from tcuq_benchmark.networks.zoo import load_network

SPLITS, FEW_SPLITS, SHORT_SPLITS, SHIFT_SPLITS = 102, 12, 20, 1
DWELLING, SHORT_DWELLING, MISS = 80, 5, 0.05
LEAST_COVERAGE, ENOUGH_STEPS = 0.9, 2000
IMAGES = ("mnist", "fashion_mnist", "cifar10")
PEOPLE = ("speech", "hapt", "watch")
TRIALS = (
    *(Trial(task, 0.6) for task in IMAGES),
    Trial("mnist", 0.6, accepted_error=0.01),
    Trial("gas", 0.5, accepted_error=0.25),  # what about twelve visits to a gas support
    *(Trial(task, 0.5, new_people=False, independent="steps") for task in ("speech", "hapt")),
    Trial("watch", 0.5, accepted_error=0.25, new_people=False, independent="steps"),
    Trial("speech", 2 / 3, accepted_error=0.25, confidence=0.9),  # what 16 recordings support
    # Fewer than 59 people are always refused, and steps promise nothing for other people.
    *(Trial(task, 2 / 3, must=False) for task in PEOPLE),
    *(Trial(task, 2 / 3, independent="steps", must=False) for task in ("speech", "hapt")),
    *(Trial(task, 0.1, must=False) for task in IMAGES),
    Trial("fashion_mnist", 0.1, image_recordings=True, must=False),
)
SHIFTED = (
    *(Trial(task, 0.6) for task in IMAGES),
    Trial("gas", 0.5, accepted_error=0.25),
    Trial("speech", 2 / 3, independent="steps"),
    Trial("hapt", 2 / 3, independent="steps", accepted_error=0.1),
)
CONFIRM = Trial("tinyimagenet", 0.1, accepted_error=0.25)
SHORT = (Trial("gas", 0.5, accepted_error=0.25), Trial("gas", 0.75))


def held_out_rows(trial: Trial, figures: Sequence[Figures | None]) -> Iterator[Row]:
    """Yield how often an issued promise was broken, and its coverage beside the oracle's."""
    fitted = [one for one in figures if one is not None]
    broken = sum(one["error"] > trial.accepted_error for one in fitted)
    issued, refused, allowed = len(fitted), len(figures) - len(fitted), 1 - trial.confidence
    low, high = share_interval(broken, issued)
    measured = f"none issued, {refused} refused"
    if fitted:
        base = 100 * np.mean([one["base"] for one in fitted])
        measured = (
            f"{broken} of {issued} issued ({100 * broken / issued:.1f} %, 95 % interval"
            f" {100 * low:.1f} to {100 * high:.1f} %), {refused} refused; base error {base:.1f} %"
        )
    yield Row(
        f"{trial.name}: promises broken by held-out data",
        f"≤ {100 * allowed:.0f} % of those issued, within the interval"
        if trial.must and fitted
        else "said plainly",
        measured,
        low <= allowed if trial.must and fitted else None,
    )
    if not fitted:
        return
    ratios = np.array([one["coverage"] / max(one["oracle"], 1e-9) for one in fitted])
    independent = float(np.median([one["independent"] for one in fitted]))
    enough = independent >= ENOUGH_STEPS
    yield Row(
        f"{trial.name}: coverage over an oracle threshold's, mean",
        f"≥ {LEAST_COVERAGE}" if enough else f"said plainly: under {ENOUGH_STEPS:,} independent",
        f"{ratios.mean():.3f} (coverage {np.mean([one['coverage'] for one in fitted]):.3f}, median"
        f" of {independent:,.0f} independent {trial.independent or 'units'} accepted)",
        bool(ratios.mean() >= LEAST_COVERAGE) if enough else None,
    )


def share_interval(count: int, of: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share (Clopper and Pearson, 1934)."""
    low = float(beta.ppf(0.025, count, of - count + 1)) if count else 0.0
    return low, float(beta.ppf(0.975, count + 1, of - count)) if count < of else 1.0


def dwelling_row(streams: int) -> Row:
    """Return how often a promise was issued that visits of 100 steps break."""
    outcomes = [dwelling_outcome(seed) for seed in range(streams)]
    issued = sum(outcomes)
    low, high = share_interval(issued, streams)
    return Row(
        "labels that dwell 100 steps, 6 % of the visits wrong as a whole: promises of 5 % issued",
        "≤ 5 % of streams, within the interval",
        f"{issued} of {streams} ({100 * issued / streams:.1f} %, 95 % interval {100 * low:.1f} to"
        f" {100 * high:.1f} %)",
        low <= MISS,
    )


def shifted_row(trial: Trial, figures: Sequence[Figures]) -> Row:
    """Return how often a shift broke the promise before the alarm."""
    counted = [one for one in figures if not one["void"]]
    broken = [one for one in counted if one["wrong"] > trial.accepted_error * one["accepted"]]
    silent = sum(not one["alarm"] for one in broken)
    wrong = float(np.median([one["wrong"] for one in counted])) if counted else 0.0
    return Row(
        f"{trial.task}, accepted error {100 * trial.accepted_error:g} %: shifted streams whose"
        " promise broke between onset and alarm",
        "said plainly",
        f"{len(broken)} of {len(counted)} ({100 * len(broken) / max(len(counted), 1):.0f} %),"
        f" {silent} of them without an alarm in at most 1,000 steps; median of {wrong:.0f} wrong"
        " predictions accepted before the alarm",
        None,
    )


def long_rows() -> Iterator[Row]:
    """Yield the rows of every trial."""
    for trial in TRIALS:
        yield from held_out_rows(trial, splits_of(trial, SPLITS if trial.must else FEW_SPLITS))
    yield dwelling_row(DWELLING)
    for trial in SHIFTED:
        yield shifted_row(trial, shifts_of(trial, SHIFT_SPLITS))


def short_rows() -> Iterator[Row]:
    """Yield the rows of a set whose network trains in seconds."""
    load_network("gas", "base", 0, train=True)
    for trial in SHORT:
        yield from held_out_rows(trial, splits_of(trial, SHORT_SPLITS, [0]))
    yield dwelling_row(SHORT_DWELLING)
    yield shifted_row(SHORT[0], shifts_of(SHORT[0], SHIFT_SPLITS))


def main() -> None:
    """Measure and report."""
    options = parser()
    options.add_argument("--confirm", action="store_true", help="only the confirmation's set")
    args = options.parse_args()
    if args.short:
        sys.exit(report("accepted_error", short_rows(), LIBRARIES, write=False))
    if args.confirm:
        rows, tasks = held_out_rows(CONFIRM, splits_of(CONFIRM, SPLITS)), [CONFIRM.task]
    else:
        rows, tasks = long_rows(), sorted({trial.task for trial in TRIALS})
    name = "accepted_confirm" if args.confirm else "accepted_error"
    sys.exit(report(name, rows, LIBRARIES, write=args.write, more=provenance(tasks)))


if __name__ == "__main__":
    main()
