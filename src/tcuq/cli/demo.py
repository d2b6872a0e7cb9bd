# SPDX-License-Identifier: Apache-2.0
"""`tcuq demo`: the monitor on the recorded stream that comes with the package."""

import argparse
import dataclasses
from textwrap import wrap
from typing import TYPE_CHECKING

from tcuq.cli._output import Commands, print_result

if TYPE_CHECKING:
    from tcuq.demo import Demonstration

COLUMNS = 80
HEADER = (
    "           accuracy         withheld        error among accepted       alarm",
    "fault                   tcuq      softmax   tcuq  softmax  none   shifts delay",
)


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "demo", help="show the monitor at work on a recorded stream"
    )
    return parser


def run(args: argparse.Namespace) -> None:
    """Fit, run over the test stream and every fault, and print what happened."""
    from tcuq import demo

    shown = demo.demonstrate()
    facts = {
        "summary": shown.comparison.sentence,
        "profile": shown.profile.sha256,
        "false_alarms": int((shown.test.alarm > 0).sum()),
        "faults": [dataclasses.asdict(effect) for effect in shown.effects],
    }
    print_result(args, facts, "\n".join(_lines(shown)))


def _lines(shown: "Demonstration") -> list[str]:
    from tcuq.demo import FAULTS, PICTURE_SPAN, demo_stream, picture

    false_alarms = int((shown.test.alarm > 0).sum())
    text = [
        *wrap(shown.comparison.sentence, COLUMNS),
        "",
        f"That is on {len(shown.test):,} steps of five people, with {false_alarms} false alarms.",
        "A small network reads activities from a phone at the waist; a step is 1.28 s.",
        "The monitor was calibrated on ten other people:",
        "",
        shown.profile.summary(),
        "",
        "The same people while a sensor fails, from the step where the fault starts:",
        "",
        *HEADER,
    ]
    for e in shown.effects:
        delay = "" if e.median_delay_steps is None else f"{e.median_delay_steps:,.0f}"
        text.append(
            f"{e.fault:<9}{e.accuracy_clean:>4.0%} → {e.accuracy:<5.0%}"
            f"{e.withheld_clean:>4.0%} → {e.withheld:<5.0%}{e.softmax_withheld:>7.0%}"
            f"{e.error_accepted:>7.0%}{e.softmax_error_accepted:>9.0%}{1 - e.accuracy:>6.0%}"
            f"{e.caught:>5} of {e.onsets}{delay:>6}".rstrip()
        )
    text += [
        "a → b: without the fault → with it. softmax: a softmax threshold. none: no",
        "monitor. shifts: onsets of the fault that raised an alarm. delay: median steps.",
    ]
    fault, span = PICTURE_SPAN
    stream, trace = demo_stream(f"fault_{fault}"), shown.traces[FAULTS.index(fault)]
    text += ["", f"Fault {fault!r}, steps {span.start} to {span.stop - 1}:"]
    return text + picture(stream, trace, span)
