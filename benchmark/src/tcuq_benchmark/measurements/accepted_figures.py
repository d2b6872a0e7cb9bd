# SPDX-License-Identifier: Apache-2.0
"""Figures of the promise on the accepted error: one split, or one shifted stream, at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import tcuq
from tcuq.errors import FitError
from tcuq_benchmark.data.samples import Ints
from tcuq_benchmark.detectors.cases import concatenate
from tcuq_benchmark.measurements.accepted_streams import Source, source_of, split_rows
from tcuq_benchmark.measurements.alarm_cases import Case, Figures, saved, trained
from tcuq_benchmark.scores.monitors import quiet_fit

LEAD_IN = 1000  # clean held-out steps before a shift
LEVELS = 1 << 14
VISITS, VISIT = 20, 100  # labels that dwell: how often, and for how many steps


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


def promised_profile(stream: tcuq.Stream, trial: Trial) -> tcuq.Profile | None:
    """Return the fitted profile, or None where the fit refuses."""
    try:
        return quiet_fit(
            stream,
            promise=tcuq.PromiseOptions(
                trial.accepted_error,
                trial.confidence,
                trial.independent,  # type: ignore[arg-type]
            ),
        )
    except FitError:
        return None


def split_streams(trial: Trial, source: Source, seed: int) -> tuple[tcuq.Stream, tcuq.Stream, Ints]:
    """Return the stream to calibrate on, the held-out one, and the rows of the latter."""
    known, held_out = split_rows(source.person, trial.share, seed, new_people=trial.new_people)
    streams = [source.stream(known, 2 * seed), source.stream(held_out, 2 * seed + 1)]
    if trial.image_recordings:
        streams = [_cut_at_images(stream) for stream in streams]
    return streams[0], streams[1], held_out


def _cut_at_images(stream: tcuq.Stream) -> tcuq.Stream:
    """Return the stream with one recording for each run of one label."""
    assert stream.labels is not None  # noqa: S101 - labelled above; for the type checker
    starts = np.flatnonzero(np.diff(stream.labels, prepend=-1))
    return tcuq.Stream(
        stream.posteriors, stream.features, stream.labels, kind=stream.kind, starts=starts
    )


def held_out_figures(trial: Trial, source: Source, seed: int) -> Figures | None:
    """Return held-out error, coverage and the oracle's coverage; None if the fit refuses."""
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
    """Return the coverage of the highest threshold whose accepted error is within bounds."""
    order = np.argsort(levels, kind="stable")
    last = np.append(levels[order][1:] != levels[order][:-1], True)
    count = np.arange(1, len(order) + 1)
    within = np.flatnonzero((np.cumsum(wrong[order]) <= accepted_error * count) & last)
    return float(count[within[-1]] / len(order)) if len(within) else 0.0


def shifted_figures(trial: Trial, source: Source, seed: int) -> list[Figures]:
    """Count accepted steps and errors from each shift's onset to the first alarm after it."""
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


def dwelling_outcome(seed: int) -> bool:
    """Return whether 5 % is promised of a stream whose visits are wrong as a whole, 6 % of them."""
    rng = np.random.default_rng([seed, 15])
    labels = np.repeat(rng.integers(0, 10, VISITS), VISIT)
    wrong = np.repeat(rng.random(VISITS) < 0.06, VISIT)
    shown = np.where(wrong, (labels + 1) % 10, labels)
    logits = 6 * np.eye(10)[shown] + rng.normal(0, 1, (len(labels), 10))
    stream = tcuq.Stream(logits, labels=labels, kind="logits")
    return promised_profile(stream, Trial("dwelling", 1.0)) is not None


def run_splits(case: Case, trial: Trial, seeds: Sequence[int]) -> Figures:
    """Run random splits of a network."""
    source = source_of(case.task, case.network)
    return {"splits": [held_out_figures(trial, source, seed) for seed in seeds]}


def run_shifts(case: Case, trial: Trial, splits: int) -> Figures:
    """Run every shift of some splits."""
    source = source_of(case.task, case.network)
    return {"streams": [s for seed in range(splits) for s in shifted_figures(trial, source, seed)]}


def splits_of(trial: Trial, splits: int, networks: Sequence[int] = ()) -> list[Figures | None]:
    """Return the figures of random splits, over the trained networks."""
    networks = networks or trained(trial.task)
    figures: list[Figures | None] = []
    for network in networks:
        seeds = [100 * network + i for i in range(-(-splits // len(networks)))]
        figures += saved(run_splits, Case(trial.task, network), trial, seeds)["splits"]
    return figures


def shifts_of(trial: Trial, splits: int) -> list[Figures]:
    """Return the figures of every shift with the first network."""
    streams: list[Figures] = saved(run_shifts, Case(trial.task, 0), trial, splits)["streams"]
    return streams
