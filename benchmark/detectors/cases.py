# SPDX-License-Identifier: Apache-2.0
"""Cases: a calibration and the streams run after it; and the delays of detectors on them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmark.detectors.contenders import Contender
from benchmark.detectors.detector import Bools, Detector, Watched, watched
from benchmark.detectors.ours import calibrated
from benchmark.detectors.pools import Dealing, Pool, Sides
from benchmark.streams import Episode
from tcuq import Stream

LENGTHS = (5_000, 10_000, 20_000, 20_000)  # of each network's calibration streams
CALM = 80_000  # steps run on after each calibration
BEFORE, PHASES = 3_000, 512  # calm steps before a shift, and up to so many more
SLOW_STEPS, SLOW_BEFORE = 5_000, 300  # for slow detectors

Limits = Mapping[str, Sequence[float]]  # by kind, one a case
Delays = dict[Episode, list[float]]


@dataclass(frozen=True, eq=False)
class Case:
    """One calibration, and an in-distribution stream to run on after it."""

    pool: Pool
    sides: Sides
    number: int
    calibration: Watched
    calm: Watched


@dataclass(frozen=True, eq=False)
class Entrant:
    """A contender, fitted for each of its cases, and the limits it runs at."""

    contender: Contender
    cases: Sequence[Case]
    detectors: Sequence[Detector]
    limits: Limits


def cases_of(held: Pool, dealing: Dealing, seed: int) -> Iterator[Case]:
    """So many calibrations of the network of this seed, different from those of other seeds."""
    for turn, steps in enumerate(LENGTHS):
        number = len(LENGTHS) * seed + turn
        sides = held.deal(dealing, number)
        calibration = held.calibration(sides[0], steps, 2 * number)
        profile = calibrated(calibration)
        calm = held.calm(sides[1], CALM, 2 * number + 1)
        yield Case(held, sides, number, watched(profile, calibration), watched(profile, calm))


def shortened(case: Case) -> Case:
    """For slow detectors."""
    short = (last(one, SLOW_STEPS) for one in (case.calibration, case.calm))
    return Case(case.pool, case.sides, case.number, *short)


def last(seen: Watched, steps: int) -> Watched:
    """The signals of the last steps, for detectors that need no more."""
    return replace(seen, values={name: held[-steps:] for name, held in seen.values.items()})


def delays_on(
    case: Case, place: int, entrants: Sequence[Entrant], found: Sequence[Mapping[str, Delays]]
) -> None:
    """Add each entrant's delays on every shift after one calibration, by kind of limit.

    `place` is the case's among all; slow entrants have fewer.
    """
    for turn, shift in enumerate(case.pool.shifts):
        seen, length = _shifted(case, shift, turn)
        for entrant, into in zip(entrants, found, strict=True):
            if place >= len(entrant.cases):
                continue
            slow = entrant.contender.slow
            view = last(seen, SLOW_BEFORE + length) if slow else seen
            known: dict[float, float] = {}
            for kind, chosen in entrant.limits.items():
                limit = chosen[place]
                if limit not in known:
                    flags = entrant.detectors[place].alarms(view, limit)
                    known[limit] = delay(flags[-length:])
                into[kind].setdefault(shift, []).append(known[limit])


def delay(flags: Bools) -> float:
    """Steps until the first alarm; infinite if there is none."""
    return float(flags.argmax() + 1) if flags.any() else float("inf")


def summary(delays: Delays) -> dict[str, Any]:
    """Medians and misses by severity, and the median of each shift; None is infinite."""
    row: dict[str, Any] = {}
    for severity in sorted({level for _, level in delays}):
        of_shift = {shift: d for (shift, level), d in delays.items() if level == severity}
        every = np.concatenate(list(of_shift.values()))
        row[f"severity {severity}" if severity else "drift"] = {
            "onsets": len(every),
            "missed": int(np.isinf(every).sum()),
            "median delay": _finite(np.median(every)),
            "by shift": {shift: _finite(np.median(d)) for shift, d in of_shift.items()},
        }
    return row


def _shifted(case: Case, shift: Episode, place: int) -> tuple[Watched, int]:
    """Calm steps and then shifted ones; and how many of these."""
    rng = np.random.default_rng([case.number, place, 11])
    before = BEFORE + int(rng.integers(PHASES))
    calm = case.pool.calm(case.sides[1], before, 1_000 + case.number)
    then = case.pool.shifted(shift, case.sides[1], case.number)
    return watched(case.calibration.profile, followed(calm, then)), len(then)


def followed(first: Stream, then: Stream) -> Stream:
    """One stream after the other; history goes on over the seam."""
    if first.features is None or then.features is None:
        raise ValueError("both streams must have features")
    return Stream(
        np.concatenate([first.posteriors, then.posteriors]),
        np.concatenate([first.features, then.features]),
        kind=first.kind,
        starts=np.concatenate([first.starts, then.starts[1:] + len(first)]),
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
