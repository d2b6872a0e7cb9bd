# SPDX-License-Identifier: Apache-2.0
"""The promise on the accepted error: how often held-out data break it, and what it covers.

Each split draws rows at random, fits with `accepted_error` on one part and runs the monitor on the
other. A promise is broken if more of the accepted held-out steps are wrong than promised, although
held-out data have a sampling error of their own. On shifted streams accepted steps count from the
onset to the first alarm. `--confirm` runs the set of the confirmation's protocol instead.
"""

import sys
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import beta

from results.result import Row, parser, report
from tcuq_benchmark.measurements.accepted_figures import Trial, shifts_of, splits_of
from tcuq_benchmark.measurements.alarm_cases import LIBRARIES, Figures, provenance
from tcuq_benchmark.networks.zoo import load_network

SPLITS, FEW_SPLITS, SHORT_SPLITS, SHIFT_SPLITS = 102, 12, 20, 1
LEAST_COVERAGE, ENOUGH_STEPS = 0.9, 2000
IMAGES = ("mnist", "fashion_mnist", "cifar10")
PEOPLE = ("speech", "hapt", "watch")
TRIALS = (
    *(Trial(task, 0.1) for task in IMAGES),
    Trial("mnist", 0.1, accepted_error=0.01),
    Trial("gas", 0.5),
    *(Trial(task, 0.5, new_people=False, independent="steps") for task in PEOPLE),
    Trial("speech", 2 / 3, accepted_error=0.25, confidence=0.9),  # what 16 recordings support
    # Fewer than 59 people are always refused, and steps promise nothing for other people.
    *(Trial(task, 2 / 3, must=False) for task in PEOPLE),
    *(Trial(task, 2 / 3, independent="steps", must=False) for task in ("speech", "hapt")),
    *(Trial(task, 0.6, must=False) for task in ("fashion_mnist", "cifar10")),
    Trial("mnist", 0.6, accepted_error=0.01, must=False),
    Trial("fashion_mnist", 0.1, image_recordings=True, must=False),
)
SHIFTED = (
    *(Trial(task, 0.6) for task in IMAGES),
    Trial("gas", 0.5),
    Trial("speech", 2 / 3, independent="steps"),
    Trial("hapt", 2 / 3, independent="steps", accepted_error=0.1),
)
CONFIRM = Trial("tinyimagenet", 0.1, accepted_error=0.25)
SHORT = (Trial("gas", 0.5), Trial("gas", 0.75, accepted_error=0.01))


def held_out_rows(trial: Trial, figures: Sequence[Figures | None]) -> Iterator[Row]:
    """Yield how often the promise was broken, and its coverage beside the oracle's."""
    fitted = [one for one in figures if one is not None]
    broken = sum(one["error"] > trial.accepted_error for one in fitted)
    share, count = broken / len(figures), len(figures)
    limit = float(beta.ppf(0.95, broken + 1, count - broken)) if broken < count else 1.0
    base = f"; base error {100 * np.mean([f['base'] for f in fitted]):.1f} %" if fitted else ""
    yield Row(
        f"{trial.name}: promises broken by held-out data",
        f"≤ {100 * (1 - trial.confidence):.0f} % of splits" if trial.must else "said plainly",
        f"{broken} of {count} splits ({100 * share:.1f} %, upper 95 % limit {100 * limit:.1f} %),"
        f" {count - len(fitted)} refused{base}",
        share <= 1 - trial.confidence if trial.must else None,
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
    for trial in SHIFTED:
        yield shifted_row(trial, shifts_of(trial, SHIFT_SPLITS))


def short_rows() -> Iterator[Row]:
    """Yield the rows of a set whose network trains in seconds."""
    load_network("gas", "base", 0, train=True)
    for trial in SHORT:
        yield from held_out_rows(trial, splits_of(trial, SHORT_SPLITS, [0]))
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
