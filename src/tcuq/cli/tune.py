# SPDX-License-Identifier: Apache-2.0
"""`tcuq tune`: choose the options of a fit on a development stream, under a device's limits."""

import argparse
import math
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from tcuq.cli._arguments import add_without_telemetry, adder, parse_bytes, parse_lags
from tcuq.cli.output import check_output, print_result
from tcuq.errors import InputError
from tcuq.files import atomic_write
from tcuq.stream import Stream

if TYPE_CHECKING:
    from tcuq.tune import Trial, TuneResult
    from tcuq.tune.search import MapFunction

SENTENCE = "choose options of a fit under a device's limits"
EXAMPLE = "tune calibration.npz -o tuned.json --lags 1 1,2 --mix 0.7 --alpha 0.1 --budget 0.15"
AXES = ("lags", "block_factor", "score", "mix", "alpha", "budget")
SHOWN = 20
_RULE = {
    True: "the least RAM of those whose cost is within one standard error of the least",
    False: "the fastest possible alarm",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add("stream", "development stream in recorded order; not the test stream")
    add("-o", "--output", "profile to write, .json", required=True)
    add("--ram", "limit of the monitor's state, such as 1K", type=parse_bytes)
    add("--flash", "limit of the monitor's code and tables, such as 16K", type=parse_bytes)
    add("--false-alarms", "limit of false alarms per million steps", type=float, default=1.0)
    add(
        "--price",
        "cost of an abstention, where an error costs 1; default 0.2",
        type=float,
        default=0.2,
    )
    add("--processes", "candidates to fit in parallel", type=int, default=1)
    add("--cpu", "CPU for RAM and flash, as for `tcuq size`", default="cortex-m4")
    add_without_telemetry(parser)
    add("--epoch-steps", "steps per epoch, as for `tcuq fit`, default 65536", type=int)
    add("--lags", "sets of lags to try, such as 1 1,2 1,2,4", type=parse_lags, nargs="+")
    add("--block-factor", "factors of the alarm's block lengths to try", type=int, nargs="+")
    add("--score", "scores to try", choices=("anchored", "tcuq"), nargs="+")
    for name in ("mix", "alpha", "budget"):
        add(f"--{name}", f"values of {name} to try", type=float, nargs="+")


def run(args: argparse.Namespace) -> None:
    """Fit and judge every candidate, then write the chosen profile and a picture of the front."""
    from tcuq.tune import Grid, Limits, pareto_chart, tune

    check_output(args.output, ".json")
    log, picture = (Path(args.output).with_suffix(e) for e in (".tune.jsonl", ".tune.svg"))
    axes = {name: getattr(args, name) for name in AXES}
    with _mapper(args.processes) as each:
        tuned = tune(
            Stream.load(args.stream),
            log,
            grid=Grid(**{name: tuple(values) for name, values in axes.items() if values}),
            limits=Limits(args.ram, args.flash, args.false_alarms),
            price=args.price,
            cpu=args.cpu,
            telemetry=not args.without_telemetry,
            epoch_steps=args.epoch_steps,
            map_function=each,
        )
    tuned.profile.save(args.output)
    with atomic_write(picture) as file:
        file.write(pareto_chart(tuned).encode())
    facts = {
        "chosen": tuned.chosen.as_json(),
        "front": [trial.as_json() for trial in tuned.front],
        "trials": len(tuned.trials),
        "labelled": tuned.objective.labelled,
        "steps": dict(zip(("training", "gap", "validation"), tuned.steps, strict=True)),
    }
    written = f"written to {args.output}, fitted on the whole stream; picture: {picture}"
    print_result(args, facts, "\n".join([*_lines(tuned), written]))


@contextmanager
def _mapper(processes: int) -> "Iterator[MapFunction]":
    """`map` in this process, or in a pool of so many."""
    if processes < 1:
        raise InputError(f"processes must be at least 1, got {processes}")
    if processes == 1:
        yield map
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        yield pool.map


def _lines(tuned: "TuneResult") -> Iterator[str]:
    fitting, gap, judging = tuned.steps
    failed = sum(1 for trial in tuned.trials if trial.error)
    yield (
        f"fitted on the first {fitting:,} steps, judged on the last {judging:,} after a gap of"
        f" {gap:,}; no other stream was seen"
    )
    yield (
        f"{len(tuned.trials)} candidates, {failed} could not be fitted, {len(tuned.front)} on the"
        f" front; chosen (>): {_RULE[tuned.objective.labelled]}"
    )
    if not tuned.objective.labelled:
        yield "no labels: alpha, budget and score were not tuned, only lags and block length"
    yield from _table(tuned)
    yield "the best of many looks better than it is: test it with tcuq evaluate on another stream"


def _table(tuned: "TuneResult") -> Iterator[str]:
    judged = ("cost", "wrong", "abstained", "AUROC") if tuned.objective.labelled else ("deviation",)
    yield "  " + " ".join(f"{n:>9}" for n in (*judged, "alarm", "RAM", "flash")) + "  options"
    for trial in tuned.front[:SHOWN]:
        yield _row(tuned, trial)
    if len(tuned.front) > SHOWN:
        yield f"and {len(tuned.front) - SHOWN} more: --json has them all"


def _row(tuned: "TuneResult", trial: "Trial") -> str:
    from tcuq.tune.search import command_line_options

    judged = (
        (tuned.objective.cost(trial), trial.wrong, trial.abstained, trial.auroc)
        if tuned.objective.labelled
        else (trial.deviation,)
    )
    delay = f"{trial.delay:,.0f}" if math.isfinite(trial.delay) else "never"
    fields = [f"{value:.4f}" for value in judged]
    fields += [delay, f"{trial.ram:,}", f"{trial.flash:,}"]
    mark = "> " if trial is tuned.chosen else "  "
    return mark + " ".join(f"{field:>9}" for field in fields) + f"  {command_line_options(trial)}"
