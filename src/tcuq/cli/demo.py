# SPDX-License-Identifier: Apache-2.0
"""`tcuq demo`: the monitor on the recorded stream that comes with the package."""

import argparse
import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from tcuq.causes import HEALTH, SINCE_BOOT
from tcuq.cli._arguments import adder
from tcuq.cli.output import print_result

if TYPE_CHECKING:
    from tcuq.demo import Baseline, Demonstration, Effect, Onset

SENTENCE = "show the monitor at work on a recorded stream"
EXAMPLE = "demo"
COLUMNS = 80
HEADER = (
    "                              wrong % of accepted     first alarm in a session:",
    "fault      accuracy withheld  tcuq softmax scaled all  seconds from onset, cause",
)
NEXT = (
    "Try next:",
    "  tcuq demo -o demo",
    "  tcuq fit demo/calibration.npz -o monitor.json",
    "  tcuq report monitor.json demo/fault_hum.npz -o report.html",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add("-o", "--out", "write the recorded streams to this folder instead", metavar="FOLDER")


def run(args: argparse.Namespace) -> None:
    """Fit, run over the test stream and every fault, and print what happened."""
    from tcuq import demo

    if args.out is not None:
        folder = Path(args.out)
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{name}.npz" for name in demo.STREAMS]
        for path in paths:
            path.write_bytes((demo.FOLDER / path.name).read_bytes())
        written = {"streams": [str(path) for path in paths]}
        print_result(args, written, f"{len(paths)} streams written to {folder}")
        return
    shown = demo.demonstrate()
    facts = {
        "summary": shown.comparison.sentence,
        "profile": shown.profile.sha256,
        "seconds_per_step": demo.seconds_per_step(),
        "false_alarms": int((shown.test.alarm > 0).sum()),
        "faults": [dataclasses.asdict(effect) for effect in shown.effects],
        "adwin": dataclasses.asdict(demo.adwin()),
    }
    print_result(args, facts, "\n".join(_lines(shown)))


def _lines(shown: "Demonstration") -> Iterator[str]:
    from tcuq.demo import FAULTS, PICTURE_SPAN, adwin, demo_stream, picture

    false_alarms = int((shown.test.alarm > 0).sum())
    yield from _wrapped(
        "A small network recognises spoken digits, one every 2 s, each in two overlapping windows."
        " The monitor was calibrated on 20 people and meets 12 others, on"
        f" {len(shown.test):,} s of clean speech with {false_alarms} false alarms."
        f" {shown.comparison.sentence} Then the microphone fails for 400 s, twice:"
    )
    yield from ("", *HEADER)
    yield from (_row(effect) for effect in shown.effects)
    yield from _wrapped(
        "A step is one window, 1 s on average; columns are in %. accuracy: without → with the"
        " fault. softmax: the network's confidence, at a threshold that accepts as many; scaled:"
        " the same after temperature scaling; all: no monitor. level, roughness, repeats, spread:"
        " the health of the microphone's samples; other causes: the network's outputs."
    )
    yield from ("", *_wrapped(_unseen(shown.effects)), *_wrapped(_adwin(adwin(), shown.effects)))
    fault, span = PICTURE_SPAN
    stream, trace = demo_stream(f"fault_{fault}"), shown.traces[FAULTS.index(fault)]
    yield from ("", f"Fault {fault!r}, seconds {span.start} to {span.stop - 1}:")
    yield from (*picture(stream, trace, span), "", *NEXT)


def _wrapped(text: str) -> list[str]:
    return wrap(text, COLUMNS)


def _row(effect: "Effect") -> str:
    before, after = 100 * effect.accuracy_clean, 100 * effect.accuracy
    ours, softmax, scaled = (
        "–" if math.isnan(error) else f"{100 * error:.0f}"
        for error in (
            effect.error_accepted,
            effect.softmax_error_accepted,
            effect.scaled_error_accepted,
        )
    )
    return (
        f"{effect.fault:<11}{before:>3.0f}→{after:<4.0f}{100 * effect.withheld:>8.0f}"
        f"{ours:>6}{softmax:>8}{scaled:>7}{100 - after:>4.0f}  "
        f"{', '.join(_alarm(onset) for onset in effect.onsets)}"
    )


def _alarm(onset: "Onset") -> str:
    """Return the delay and the cause, without what every cause here has in common."""
    if onset.delay_seconds is None:
        return "unseen"
    cause = onset.cause.removesuffix(SINCE_BOOT).rpartition(f"{HEALTH}: microphone ")[2]
    return f"{onset.delay_seconds:.0f} {cause}"


def _unseen(effects: "Sequence[Effect]") -> str:
    """Say which onsets raised no alarm, and what comes of a repair that nobody acknowledges."""
    unseen = [f"{e.fault} ({n} of 2)" for e in effects if (n := _missed(e.onsets))]
    again = [effect.left_running[1].delay_seconds for effect in effects]
    delays = [delay for delay in again if delay is not None]
    late = f", after {min(delays):.0f} s or more" if delays else ""
    only = " only" if len(delays) < len(again) else ""
    return (
        f"Unseen: {', '.join(unseen) or 'none of the onsets'}. The monitor is told of each repair"
        " (acknowledge). If it is not, it takes a fault that stayed for normal: the second onset"
        f" raises an alarm for {len(delays)} of {len(again)} faults{only}{late}."
    )


def _missed(onsets: "Sequence[Onset]") -> int:
    return sum(onset.delay_steps is None for onset in onsets)


def _adwin(adwin: "Baseline", effects: "Sequence[Effect]") -> str:
    """Set ADWIN beside the monitor: delays, false alarms, and what tuning costs."""
    delays = [onset.delay_steps for effect in effects for onset in effect.onsets]
    ours = float(np.median([np.inf if delay is None else delay for delay in delays]))
    than = "sooner" if adwin.median_delay_steps < ours else "no sooner"
    return (
        f"ADWIN on {adwin.signal} comes {than} here: with the best delta in hindsight it catches"
        f" {adwin.caught} of {adwin.onsets} onsets, half of them within"
        f" {adwin.median_delay_steps:.0f} s (tcuq {ours:.0f} s), at"
        f" {adwin.false_alarms_per_million:.0f} false alarms in a million clean steps (tcuq"
        f" {adwin.tcuq_false_alarms_per_million:.0f}). Tuned on calibration it has"
        f" {adwin.false_alarms_per_million_tuned_on_calibration:.0f}. It names no cause."
    )
