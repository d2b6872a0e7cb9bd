# SPDX-License-Identifier: Apache-2.0
"""Slow dependence: whether the alarm keeps its rate, and whether the rehearsal of `fit` tells.

Made streams of a classifier with eight classes, on which something moves slowly: how long a class
stays, the noise level, day and night, or people who take turns. The field is a new stream of the
same process, with new people, 100,000 steps or more.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.stats import poisson

import tcuq
from results.result import Row, figure, measure
from tcuq_benchmark.measurements.alarm_cases import LEVELS

Floats = NDArray[np.float64]

CLASSES, WIDTH = 8, 16
PROCESSES = (
    "dwells of 300", "dwells of 2,000", "noise level over 300", "noise level over 3,000",
    "day and night", "people in turn", "people who stay three times as long",
)  # fmt: skip
LENGTHS = (2_000, 17_280)
SEEDS, SHORT_SEEDS = range(10), range(1)
FIELD, SHORT_FIELD = 100_000, 50_000
DAY = 17_280
PEOPLE, TURN = 34, 500  # people, and steps of a turn
UNLIKELY = 0.01
WARNINGS = {"rehearsal", "few_changes"}
LEAST_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one calibration: whether its alarm broke the rate, and whether the fit said so."""

    broken: bool
    warned: bool


def stream(process: str, steps: int, seed: int, *, field: bool) -> tcuq.Stream:
    """Return a stream of a process; the field meets other people than calibration."""
    rng = np.random.default_rng([seed, field, 21])
    common = np.random.default_rng(22)
    centres = common.normal(size=(CLASSES, WIDTH))
    offsets = 0.35 * common.normal(size=(2, PEOPLE, WIDTH))[int(field)]
    dwell = {"dwells of 300": 300, "dwells of 2,000": 2_000}.get(process, 20)
    visits = np.cumsum(rng.random(steps) < 1 / dwell)
    labels = rng.integers(CLASSES, size=visits[-1] + 1)[visits]
    features = centres[labels] + 0.55 * _level(process, steps, rng) * rng.normal(
        size=(steps, WIDTH)
    )
    if process.startswith("people"):
        turn = TURN * (3 if field and process.endswith("as long") else 1)
        rounds = -(-steps // (PEOPLE * turn))
        order = np.concatenate([rng.permutation(PEOPLE) for _ in range(rounds)])
        features += offsets[order[np.arange(steps) // turn]]
    logits = -0.5 * ((features[:, None] - centres) ** 2).sum(axis=2)
    return tcuq.Stream(logits, features, kind="logits")


def _level(process: str, steps: int, rng: np.random.Generator) -> Floats:
    """Return the noise level of each step, as a column."""
    level: Floats = np.zeros(steps)
    if process.startswith("noise level"):
        memory = 300 if process.endswith("over 300") else 3_000
        keep = np.exp(-1 / memory)
        pushes = rng.normal(size=steps) * np.sqrt(1 - keep**2)
        pushes[0] = rng.normal()
        level = 0.35 * lfilter([1.0], [1.0, -keep], pushes)
    if process == "day and night":
        level = 0.5 * np.sin(2 * np.pi * (np.arange(steps) + rng.integers(DAY)) / DAY)
    return np.exp(level)[:, None]


def outcome(process: str, steps: int, seed: int, field_steps: int) -> Outcome:
    """Calibrate, and count false alarms in the field at three rates."""
    calibration = stream(process, steps, seed, field=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            profile = tcuq.fit(calibration)
        except tcuq.errors.FitError:
            return Outcome(broken=True, warned=True)
    assert profile.alarm is not None  # noqa: S101 - recommended profiles have an alarm
    field = stream(process, field_steps, seed, field=True)
    tails = []
    for h in LEVELS:
        alarm = replace(profile.alarm, steps_per_false_alarm=1 << h)
        count = int((tcuq.Monitor(replace(profile, alarm=alarm)).run(field).alarm > 0).sum())
        tails.append(poisson.sf(count - 1, field_steps / 2**h))
    findings = {finding.name for finding in profile.provenance.findings}
    return Outcome(bool(min(tails) < UNLIKELY), bool(findings & WARNINGS))


def rows(short: bool) -> Iterator[Row]:
    """Yield how often the fit warned, where the rate breaks and where it holds."""
    seeds, field = (SHORT_SEEDS, SHORT_FIELD) if short else (SEEDS, FIELD)
    every: list[Outcome] = []
    for process, steps in product(PROCESSES, LENGTHS):
        some = [outcome(process, steps, seed, field) for seed in seeds]
        every += some
        broken = [one for one in some if one.broken]
        whole = [one for one in some if not one.broken]
        warned = f"{sum(one.warned for one in broken)} of {len(broken)} warned"
        quiet = f"{sum(not one.warned for one in whole)} of {len(whole)} not warned"
        yield figure(f"{process}, {steps:,} steps: rate broken; held", f"{warned}; {quiet}")
    for what, chosen, right in (
        ("broken, the fit warned", [one for one in every if one.broken], True),
        ("held, the fit did not warn", [one for one in every if not one.broken], False),
    ):
        share = float(np.mean([one.warned is right for one in chosen])) if chosen else 1.0
        measured = f"{100 * share:.0f} % of {len(chosen)}"
        passed = None if short else share >= LEAST_SHARE
        yield Row(f"slow dependence: rate {what}", f"≥ {100 * LEAST_SHARE:.0f} %", measured, passed)


if __name__ == "__main__":
    measure("slow_dependence", rows, ("scikit-learn", "scipy"))
