# SPDX-License-Identifier: Apache-2.0
"""Grid search: fit and evaluate every candidate on two parts of one development stream."""

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tcuq.charts import Axis, Chart, Frame, standalone_svg
from tcuq.errors import FitError, InputError
from tcuq.firmware.footprint import footprint
from tcuq.firmware.runtime_files import code_digest
from tcuq.profile import Profile
from tcuq.progress import Progress
from tcuq.stream import Stream
from tcuq.tune.front import Limits, Objective, within_limits
from tcuq.tune.grid import Candidate, Grid
from tcuq.tune.trial import (
    Trial,
    TrialRunner,
    fit_candidate,
    longest_block,
    training_part,
    validation_part,
)
from tcuq.version import __version__

# The signature of the built-in map; the results may come in any order.
MapFunction = Callable[[Callable[[Candidate], Trial], Iterable[Candidate]], Iterable[Trial]]
FRAME = Frame(640, 400, left=60, right=150, top=36, bottom=40)
LEGEND = {"candidate": "within the limits", "series0": "Pareto front", "chosen": "chosen"}
LEGEND_ROW = 18


@dataclass(frozen=True, slots=True)
class TuneResult:
    """The profile of the chosen options, and every trial.

    The trials were fitted on the training part; ``profile`` is fitted with the options of
    ``chosen`` on the whole development stream.
    """

    profile: Profile
    chosen: Trial
    front: tuple[Trial, ...]
    trials: tuple[Trial, ...]
    objective: Objective
    limits: Limits
    steps: tuple[int, int, int]  # training, gap, validation


class TrialLog:
    """Trials in a file of JSON lines, so that an interrupted search resumes.

    The first line is a header with the stream, library and device; any other one is refused.
    """

    def __init__(self, path: str | os.PathLike[str], header: Mapping[str, object]) -> None:
        self.path: Path = Path(path)
        self._trials: dict[str, Trial] = {}
        lines = self._complete_lines()
        if not lines:
            self._append(header)
            return
        if lines[0] != _line(header):
            raise FitError(
                f"{self.path}: holds trials of another stream, version or device;"
                " remove it, or name another output"
            )
        for number, line in enumerate(lines[1:], start=2):
            try:
                trial = Trial.from_json(json.loads(line))
            except (ValueError, TypeError, LookupError):
                raise FitError(f"{self.path}: line {number} is no trial; remove it") from None
            self._trials[_key(trial.options)] = trial

    def _complete_lines(self) -> list[bytes]:
        """The lines of the file; a last line cut off by an interruption is removed."""
        content = self.path.read_bytes() if self.path.is_file() else b""
        lines = [line for line in content.splitlines(keepends=True) if line.endswith(b"\n")]
        if content and not content.endswith(b"\n"):
            os.truncate(self.path, sum(map(len, lines)))
        return lines

    def get(self, candidate: Candidate) -> Trial | None:
        """The finished trial of a candidate, or None."""
        return self._trials.get(_key(candidate))

    def add(self, trial: Trial) -> None:
        """Append a finished trial; it is on disk when this returns."""
        self._append(trial.as_json())
        self._trials[_key(trial.options)] = trial

    def _append(self, document: Mapping[str, object]) -> None:
        with self.path.open("ab") as file:
            file.write(_line(document))
            file.flush()
            os.fsync(file.fileno())


def _line(document: Mapping[str, object]) -> bytes:
    return json.dumps(document).encode() + b"\n"


def _key(candidate: Candidate) -> str:
    return json.dumps(candidate, sort_keys=True)


def tune(
    stream: Stream,
    log: str | os.PathLike[str],
    *,
    grid: Grid | None = None,
    limits: Limits | None = None,
    price: float = 0.2,
    cpu: str = "cortex-m4",
    telemetry: bool = True,
    epoch_steps: int | None = None,
    map_function: MapFunction = map,
) -> TuneResult:
    """Choose the options of a fit on a development stream, in recorded order.

    Only this stream is used: keep another one to test the result on.

    Parameters
    ----------
    stream
        The first 60 % are the training part, the end is the validation part, with a gap of the
        alarm's longest possible block between. Steps marked as shifted are not calibrated on.
        Labels are used if there are any.
    log
        File of finished trials: a second run after an interruption, or with other limits or
        another price, repeats no trial.
    grid, limits
        The options to try, and the upper bounds.
    price
        Cost of an abstention, where an error without abstention costs 1; used only with labels.
    cpu, telemetry
        The device, as for ``tcuq size``.
    epoch_steps
        As for ``tcuq.fit``; no measure depends on it.
    map_function
        Maps trials over candidates: by default one after another, with
        ``ProcessPoolExecutor().map`` on all cores, with ``tcuq.replay.spark.spark_map(session)`` on
        a cluster.
    """
    grid, limits = grid or Grid(), limits or Limits()
    if not 0 <= price <= 1:
        raise InputError(f"price must lie in 0..1, got {price}")
    training = training_part(stream)
    gap = longest_block(training)
    runner = TrialRunner(training, validation_part(stream, gap), cpu, telemetry)
    candidates = grid.candidates(labelled=runner.labelled, steps_per_false_alarm=1 << limits.h)
    header = {
        "stream": stream.sha256,
        "library": __version__,
        "runtime": code_digest(),
        "cpu": cpu,
        "telemetry": telemetry,
        "gap": gap,
    }
    trials = _run_trials(runner, candidates, TrialLog(log, header), map_function)
    objective = Objective(runner.labelled, price)
    front = objective.front(within_limits(trials, limits))
    chosen = objective.choose(front)
    profile = fit_candidate(stream, {**chosen.options, "epoch_steps": epoch_steps})
    _check_size(profile, limits, cpu, telemetry=telemetry)
    steps = (len(training), gap, len(runner.validation))
    return TuneResult(profile, chosen, tuple(front), tuple(trials), objective, limits, steps)


def _run_trials(
    runner: TrialRunner, candidates: list[Candidate], log: TrialLog, map_function: MapFunction
) -> list[Trial]:
    """The trial of every candidate; those in the log are not repeated."""
    missing = [candidate for candidate in candidates if log.get(candidate) is None]
    with Progress("candidates", total=len(missing)) as progress:
        for trial in map_function(runner.run, missing):
            log.add(trial)
            progress.advance()
    return [logged for candidate in candidates if (logged := log.get(candidate)) is not None]


def _check_size(profile: Profile, limits: Limits, cpu: str, *, telemetry: bool) -> None:
    """The profile of the whole stream may have longer tables than that of the training part."""
    size = footprint(profile, cpu, telemetry=telemetry)
    for name, limit in (("ram", limits.ram), ("flash", limits.flash)):
        used = getattr(size, name)
        if limit is not None and used > limit:
            raise FitError(
                f"fitted on the whole stream the chosen profile takes {used:,} bytes of {name},"
                f" above the limit of {limit:,}; retry with --{name} {2 * limit - used:,}"
            )


def pareto_chart(tuned: TuneResult) -> str:
    """The candidates within the limits, the Pareto front among them, and the chosen one."""
    trials = [
        t for t in within_limits(tuned.trials, tuned.limits) if math.isfinite(_objective(tuned, t))
    ]
    trials = trials or [tuned.chosen]
    heights = {id(t): h if math.isfinite(h := _objective(tuned, t)) else 0.0 for t in trials}
    label = "cost of a step" if tuned.objective.labelled else "fastest alarm, steps"
    x = _axis([t.ram for t in trials], "RAM, bytes")
    chart = Chart(f"Candidates: {label}, by RAM", x, _axis([*heights.values()], label), FRAME)
    for kind, radius in (("candidate", 3), ("series0", 5), ("chosen", 7)):
        for trial in trials:
            if _kind(tuned, trial) == kind:
                tooltip = (
                    f"{command_line_options(trial)}:"
                    f" {trial.ram:,} bytes of RAM, {trial.flash:,} of flash"
                )
                chart.point(trial.ram, heights[id(trial)], kind, radius, tooltip)
    for row, (kind, text) in enumerate(LEGEND.items()):
        chart.margin_text(FRAME.top + LEGEND_ROW * row, f"● {text}", kind)
    return standalone_svg(chart)


def command_line_options(trial: Trial) -> str:
    """A candidate's options as the command line takes them."""
    named = {n: v for n, v in trial.options.items() if n not in ("steps_per_false_alarm", "signs")}
    named["lags"] = ",".join(map(str, trial.options["lags"]))
    return " ".join(f"--{name} {value}" for name, value in named.items())


def _kind(tuned: TuneResult, trial: Trial) -> str:
    if trial == tuned.chosen:
        return "chosen"
    return "series0" if trial in tuned.front else "candidate"


def _objective(tuned: TuneResult, trial: Trial) -> float:
    return tuned.objective.measures(trial)[0]


def _axis(values: list[float], label: str) -> Axis:
    """An axis with room around the values."""
    room = 0.06 * (max(values) - min(values)) or 1.0
    return Axis.linear(min(values) - room, max(values) + room, label)
