# SPDX-License-Identifier: Apache-2.0
"""`demo` and `inspect`: what the monitor does, and what a file holds."""

import argparse
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tcuq.cli.printing import Commands, say
from tcuq.profile import Profile
from tcuq.recording import load_stream
from tcuq.stages.budget import Outcome

if TYPE_CHECKING:
    from tcuq.demo import Demonstration


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parsers of these commands."""
    demo = parsers.add_parser("demo", help="see the monitor at work on a recorded stream")
    demo.set_defaults(command=_demo)
    yield demo

    inspect = parsers.add_parser("inspect", help="say what a profile or a stream holds")
    inspect.add_argument("file")
    inspect.set_defaults(command=_inspect)
    yield inspect


def _inspect(asked: argparse.Namespace) -> None:
    if Path(asked.file).suffix == ".json":
        profile = Profile.load(asked.file)
        say(asked, json.loads(profile.to_json()), profile.summary())
        return
    stream = load_stream(asked.file)
    facts = {
        "steps": len(stream),
        "recordings": len(stream.starts),
        "kind": stream.kind,
        "classes": stream.classes,
        "features": stream.width,
        "distinct": stream.distinct,
        "labelled": 0 if stream.labels is None else int((stream.labels >= 0).sum()),
        "shifted": None if stream.shifted is None else int(stream.shifted.sum()),
        "sha256": stream.sha256,
    }
    say(asked, facts, "\n".join(f"{name:<10} {value}" for name, value in facts.items()))


def _demo(asked: argparse.Namespace) -> None:
    from tcuq import demo

    shown = demo.demonstrate()
    facts = {
        "profile": shown.profile.sha256,
        "false_alarms": int((shown.test.alarm > 0).sum()),
        "faults": [dataclasses.asdict(effect) for effect in shown.effects],
    }
    say(asked, facts, "\n".join(_demo_lines(shown)))


def _demo_lines(shown: "Demonstration") -> list[str]:
    from tcuq.demo import DRAWN, FAULTS, demo_stream, picture

    test, false_alarms = shown.test, int((shown.test.alarm > 0).sum())
    asked = (test.outcome != Outcome.ACCEPT).mean()
    text = [
        "A small network reads activities from a phone at the waist; a step is 1.28 s.",
        "The monitor was calibrated, without labels, on ten people the network never saw:",
        "",
        shown.profile.summary(),
        "",
        f"Five others: it asks at {asked:.1%} of {len(test):,} steps, {false_alarms} false alarms.",
        "The same people while a sensor fails, from the step it starts:",
        "",
        "fault         accuracy           asks to abstain     error of       alarm",
        "              clean → faulty     clean → faulty      accepted       came     after",
    ]
    for e in shown.effects:
        after = "" if e.median_delay_steps is None else f"{e.median_delay_steps:,.0f} steps"
        text.append(
            f"{e.fault:<10}{e.accuracy_clean:>9.0%} → {e.accuracy:<11.0%}"
            f"{e.asked_clean:>6.0%} → {e.asked:<11.0%}{e.error_accepted:>5.0%}"
            f"{e.caught:>12} of {e.onsets}   {after}"
        )
    fault, span = DRAWN
    stream, trace = demo_stream(f"fault_{fault}"), shown.traces[FAULTS.index(fault)]
    text += ["", f"Fault {fault!r}, steps {span.start} to {span.stop}:"]
    return text + picture(stream, trace, span)
