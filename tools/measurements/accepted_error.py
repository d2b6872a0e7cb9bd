# SPDX-License-Identifier: Apache-2.0
"""The promise on the accepted error: how often held-out data break it, and what it covers.

Each split draws rows at random, fits with `accepted_error` on one part and runs the monitor on the
other. A promise is broken if more of the accepted held-out steps are wrong than promised, although
held-out data have a sampling error of their own. On shifted streams accepted steps count from the
onset to the first alarm.
"""

import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import beta

import tcuq
from benchmark.data.samples import Ints
from benchmark.detectors.cases import concatenate
from benchmark.networks.zoo import load_network
from tools.measurements.accepted_streams import Source, source_of, split_rows
from tools.measurements.alarm_cases import LIBRARIES, Case, provenance, saved, trained
from tools.measurements.result import Row, arguments, not_reached, report

SPLITS, FEW_SPLITS, SHORT_SPLITS, SHIFT_SPLITS = 102, 33, 20, 3
MOST_BROKEN, LEAST_COVERAGE, ENOUGH_STEPS = 0.05, 0.9, 2000
LEAD_IN = 1000  # clean held-out steps before a shift
LEVELS = 1 << 14
Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Trial:
    """Splits of one set: the share to calibrate on, and the promise that is fitted."""

    task: str
    share: float
    accepted_error: float = 0.05
    confidence: float = 0.95
    new_people: bool = True
    independent: str | None = None
    image_recordings: bool = False  # each run of images of one label is a recording
    must: bool = True  # whether the share of broken promises is part of the promise

    @property
    def name(self) -> str:
        """The set and what is held out, in words."""
        people = {"speech": "speakers", "hapt": "people", "watch": "people"}.get(self.task)
        kind = people and (f"new {people}" if self.new_people else f"the same {people}")
        images = "runs of images as recordings" if self.image_recordings else "images"
        kind = kind or ("rows" if self.task == "gas" else images)
        counted = f", independent {self.independent}" if self.independent else ""
        return (
            f"{self.task}, {100 * self.share:.0f} % of {kind} to calibrate{counted}, accepted"
            f" error {100 * self.accepted_error:g} % at confidence {self.confidence:g}"
        )


IMAGES = ("mnist", "fashion_mnist", "cifar10")
TRIALS = (
    *(Trial(task, 0.1) for task in IMAGES),
    Trial("mnist", 0.1, accepted_error=0.01),
    Trial("fashion_mnist", 0.1, image_recordings=True),
    *(Trial(task, 0.6, must=False) for task in IMAGES),
    Trial("mnist", 0.6, accepted_error=0.01, must=False),
    Trial("gas", 0.5),
    Trial("gas", 0.75, accepted_error=0.01),
    *(Trial(task, 2 / 3) for task in ("speech", "hapt", "watch")),
    # What a dozen recordings can support.
    *(Trial(task, 2 / 3, accepted_error=0.25, confidence=0.9) for task in ("speech", "hapt")),
    *(
        Trial(task, 0.5, new_people=False, independent="steps")
        for task in ("speech", "hapt", "watch")
    ),
    *(Trial(task, 2 / 3, independent="steps", must=False) for task in ("speech", "hapt")),
)
SHIFTED = (
    *(Trial(task, 0.6) for task in IMAGES),
    Trial("gas", 0.5),
    Trial("speech", 2 / 3, independent="steps"),
    Trial("hapt", 2 / 3, independent="steps", accepted_error=0.1),
)
SHORT = (Trial("gas", 0.5), Trial("gas", 0.75, accepted_error=0.01))


def promised_profile(stream: tcuq.Stream, trial: Trial) -> tcuq.Profile | None:
    """The fitted profile, or None where the fit refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcuq.CalibrationWarning)
        try:
            return tcuq.fit(
                stream,
                accepted_error=trial.accepted_error,
                confidence=trial.confidence,
                independent=trial.independent,  # type: ignore[arg-type]
            )
        except tcuq.FitError:
            return None


def split_streams(trial: Trial, source: Source, seed: int) -> tuple[tcuq.Stream, tcuq.Stream, Ints]:
    """The stream to calibrate on, the held-out one, and the rows of the latter."""
    known, held_out = split_rows(source.person, trial.share, seed, new_people=trial.new_people)
    streams = [source.stream(known, 2 * seed), source.stream(held_out, 2 * seed + 1)]
    if trial.image_recordings:
        streams = [_cut_at_images(stream) for stream in streams]
    return streams[0], streams[1], held_out


def _cut_at_images(stream: tcuq.Stream) -> tcuq.Stream:
    """The stream with a recording for every run of one label, which holds a few images."""
    assert stream.labels is not None  # noqa: S101 - labelled above; for the type checker
    starts = np.flatnonzero(np.diff(stream.labels, prepend=-1))
    return tcuq.Stream(
        stream.posteriors, stream.features, stream.labels, kind=stream.kind, starts=starts
    )


def held_out_figures(trial: Trial, source: Source, seed: int) -> Figures | None:
    """One split: the held-out accepted error, coverage and the oracle's coverage; None: refused."""
    calibration, held_out, _ = split_streams(trial, source, seed)
    profile = promised_profile(calibration, trial)
    if profile is None:
        return None
    assert profile.promise is not None and held_out.labels is not None  # noqa: S101, PT018 - for the type checker
    trace = tcuq.Monitor(profile).run(held_out)
    known = held_out.labels >= 0
    levels = np.rint(trace.risk[known] * LEVELS).astype(np.int64)
    wrong = (trace.label != held_out.labels)[known]
    accepted = levels < profile.threshold.anchor
    return {
        "error": float(wrong[accepted].mean()) if accepted.any() else 0.0,
        "coverage": float(accepted.mean()),
        "oracle": oracle_coverage(levels, wrong, trial.accepted_error),
        "independent": profile.promise.independent,
        "base": float(wrong.mean()),
    }


def oracle_coverage(levels: Ints, wrong: np.ndarray, accepted_error: float) -> float:
    """Coverage of the highest threshold whose held-out accepted error is within the bound."""
    order = np.argsort(levels, kind="stable")
    last = np.append(levels[order][1:] != levels[order][:-1], True)
    count = np.arange(1, len(order) + 1)
    within = np.flatnonzero((np.cumsum(wrong[order]) <= accepted_error * count) & last)
    return float(count[within[-1]] / len(order)) if len(within) else 0.0


def shifted_figures(trial: Trial, source: Source, seed: int) -> list[Figures]:
    """Accepted steps and errors from each shift's onset to the first alarm after it."""
    calibration, held_out, rows = split_streams(trial, source, seed)
    profile = promised_profile(calibration, trial)
    if profile is None:
        return []
    lead_in = held_out[: min(LEAD_IN, len(held_out))]
    figures = []
    for shift in source.shifts:
        shifted = source.shifted(shift, rows, seed)
        assert lead_in.labels is not None and shifted.labels is not None  # noqa: S101, PT018 - for the type checker
        trace = tcuq.Monitor(profile).run(concatenate(lead_in, shifted))
        labels = np.concatenate([lead_in.labels, shifted.labels])
        counted = trace.promised & (labels >= 0)
        counted[: len(lead_in)] = False
        figures.append(
            {
                "shift": f"{shift[0]} {shift[1]}",
                "void": bool((trace.alarm[: len(lead_in)] > 0).any()),
                "alarm": bool((trace.alarm > 0).any()),
                "accepted": int(counted.sum()),
                "wrong": int((trace.label != labels)[counted].sum()),
            }
        )
    return figures


def held_out_rows(trial: Trial, figures: Sequence[Figures | None]) -> Iterator[Row]:
    """How often the promise was broken, and its coverage beside the oracle's."""
    fitted = [one for one in figures if one is not None]
    broken = sum(one["error"] > trial.accepted_error for one in fitted)
    share, count = broken / len(figures), len(figures)
    limit = float(beta.ppf(0.95, broken + 1, count - broken)) if broken < count else 1.0
    base = f"; base error {100 * np.mean([f['base'] for f in fitted]):.1f} %" if fitted else ""
    yield Row(
        f"{trial.name}: promises broken by held-out data",
        f"≤ {100 * MOST_BROKEN:g} % of splits" if trial.must else "said plainly",
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
    """How often a shift broke the promise before the alarm."""
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


def measured(trials: Sequence[Trial], splits: int) -> Iterator[Row]:
    """The rows of every trial, from the cache where the same code computed them before."""
    for trial in trials:
        networks = (0,) if splits < SPLITS else trained(trial.task)
        figures: list[Figures | None] = []
        for network in networks:
            count = splits if trial.must else min(splits, FEW_SPLITS)
            seeds = [100 * network + i for i in range(-(-count // len(networks)))]
            figures += saved(
                "accepted",
                Case(trial.task, network),
                lambda trial=trial, network=network, seeds=seeds: {  # type: ignore[misc]
                    "splits": [
                        held_out_figures(trial, source_of(trial.task, network), seed)
                        for seed in seeds
                    ]
                },
                **asdict(trial) | {"seeds": seeds},
            )["splits"]
        yield from held_out_rows(trial, figures)


def measured_shifts(trials: Sequence[Trial]) -> Iterator[Row]:
    """The rows of shifted streams, of the first network."""
    for trial in trials:
        figures = saved(
            "accepted_shifted",
            Case(trial.task, 0),
            lambda trial=trial: {  # type: ignore[misc]
                "streams": [
                    one
                    for seed in range(SHIFT_SPLITS)
                    for one in shifted_figures(trial, source_of(trial.task, 0), seed)
                ]
            },
            **asdict(trial),
        )["streams"]
        yield shifted_row(trial, figures)


def main() -> None:
    """Measure and report."""
    args = arguments()
    if args.short:
        load_network("gas", "base", 0, train=True)
        rows = [*measured(SHORT, SHORT_SPLITS), *measured_shifts(SHORT[:1])]
        sys.exit(report("accepted_error", rows, LIBRARIES, write=False))
    rows = [*measured(TRIALS, SPLITS), *measured_shifts(SHIFTED)]
    tasks = sorted({trial.task for trial in TRIALS})
    more = {**provenance(tasks), **not_reached(rows, {})}
    sys.exit(report("accepted_error", rows, LIBRARIES, write=args.write, more=more))


if __name__ == "__main__":
    main()
