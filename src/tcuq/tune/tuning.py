# SPDX-License-Identifier: Apache-2.0
"""Tune: every candidate of a grid, fitted and judged on two parts of one development stream."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tcuq._progress import Progress
from tcuq.errors import FitError, InputError
from tcuq.export.footprint import code_digest, footprint
from tcuq.profile import Profile
from tcuq.stream import Stream
from tcuq.tune.front import Judge, Limits, kept
from tcuq.tune.grid import Candidate, Grid
from tcuq.tune.log import TrialLog
from tcuq.tune.split import fitting_part, judging_part
from tcuq.tune.trial import Bench, Trial, fitted, longest_block
from tcuq.version import __version__

# As the built-in map, in any order: where the trials of a grid are worked on.
Each = Callable[[Callable[[Candidate], Trial], Iterable[Candidate]], Iterable[Trial]]


@dataclass(frozen=True, slots=True)
class Tuned:
    """The chosen profile, and what it was chosen from.

    ``chosen`` and ``front`` were judged as fitted on the first part; ``profile`` has the chosen
    options, fitted on the whole development stream.
    """

    profile: Profile
    chosen: Trial
    front: tuple[Trial, ...]
    trials: tuple[Trial, ...]
    judge: Judge
    limits: Limits
    steps: tuple[int, int, int]  # fitting, gap, judging


def tune(
    stream: Stream,
    log: str | os.PathLike[str],
    *,
    grid: Grid | None = None,
    limits: Limits | None = None,
    price: float = 0.2,
    cpu: str = "cortex-m4",
    telemetry: bool = True,
    each: Each = map,
) -> Tuned:
    """Choose the options of a fit on a development stream, in recorded order.

    Nothing but this stream is seen: keep another to test the result on.

    Parameters
    ----------
    stream
        Its first 60 % are fitted on, its end is judged on, with a gap of the alarm's longest
        possible block between. Steps marked as shifted calibrate nothing; labels judge if there are
        any.
    log
        File of finished trials: run again after an interruption, or with other limits or another
        price, and nothing is done twice.
    grid, limits
        What is tried, and what is allowed.
    price
        Of an abstention, in errors let through; used where there are labels.
    cpu, telemetry
        The device, as for ``tcuq size``.
    each
        Maps trials over candidates: here one after another, by ``ProcessPoolExecutor().map`` on all
        cores, by ``tcuq.replay.spark.spark_map(session)`` on a cluster.
    """
    grid, limits = grid or Grid(), limits or Limits()
    if not 0 <= price <= 1:
        raise InputError(f"price must lie in 0..1, got {price}")
    fitting = fitting_part(stream)
    gap = longest_block(fitting)
    bench = Bench(fitting, judging_part(stream, gap), cpu, telemetry)
    candidates = grid.candidates(labelled=bench.labelled, steps_per_false_alarm=1 << limits.h)
    of = {
        "stream": stream.sha256,
        "library": __version__,
        "runtime": code_digest(),
        "cpu": cpu,
        "telemetry": telemetry,
        "gap": gap,
    }
    trials = _trials(bench, candidates, TrialLog(log, of), each)
    judge = Judge(bench.labelled, price)
    front = judge.front(kept(trials, limits))
    chosen = judge.chosen(front)
    profile = fitted(stream, chosen.options)
    _check_size(profile, limits, cpu, telemetry=telemetry)
    steps = (len(fitting), gap, len(bench.judging))
    return Tuned(profile, chosen, tuple(front), tuple(trials), judge, limits, steps)


def _trials(bench: Bench, candidates: list[Candidate], log: TrialLog, each: Each) -> list[Trial]:
    """Every candidate's trial; what the log holds is not done again."""
    left = [candidate for candidate in candidates if log.get(candidate) is None]
    with Progress("candidates", total=len(left)) as progress:
        for trial in each(bench.trial, left):
            log.add(trial)
            progress.advance()
    return [found for candidate in candidates if (found := log.get(candidate)) is not None]


def _check_size(profile: Profile, limits: Limits, cpu: str, *, telemetry: bool) -> None:
    """The whole stream may give longer tables than its first part."""
    size = footprint(profile, cpu, telemetry=telemetry)
    for name, limit in (("ram", limits.ram), ("flash", limits.flash)):
        taken = getattr(size, name)
        if limit is not None and taken > limit:
            raise FitError(
                f"fitted on the whole stream the chosen profile takes {taken:,} bytes of {name},"
                f" above the limit of {limit:,}; lower the limit by {taken - limit:,} bytes"
            )
