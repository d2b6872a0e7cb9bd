# SPDX-License-Identifier: Apache-2.0
"""`watch`: a profile over steps as they come."""

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tcuq.cli.printing import Commands, say
from tcuq.errors import InputError
from tcuq.profile import Profile

if TYPE_CHECKING:
    from tcuq.watch import Step

SERIAL, MQTT = "serial:", ("mqtt://", "mqtts://")


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parser of this command."""
    watch = parsers.add_parser("watch", help="see a profile at work on steps as they come")
    watch.add_argument("profile")
    watch.add_argument(
        "source",
        help="a stream's file, - for standard input, serial:/dev/ttyUSB0 or mqtt://host/topic",
    )
    watch.add_argument("--rate", type=float, help="steps a second of a file, default: all at once")
    watch.add_argument("--baud", type=int, default=115_200)
    watch.add_argument(
        "--quantised", action="store_true", help="lines hold the bytes that tcuq_step takes"
    )
    watch.set_defaults(command=_watch)
    yield watch


def _watch(asked: argparse.Namespace) -> None:
    from tcuq.watch import Screen, Tally

    if asked.rate is not None and not 0 < asked.rate <= 1e6:
        raise InputError(f"rate must lie above 0 and up to 1e6 steps a second, got {asked.rate}")
    profile = Profile.load(asked.profile)
    tally = Tally(profile)
    screen = Screen(sys.stdout, asked.source)
    try:
        for step in _steps(asked, profile):
            decision = tally.take(step)
            if not asked.json:
                screen.show(tally, decision)
    except KeyboardInterrupt:
        pass  # how one stops watching
    finally:
        if not asked.json:
            screen.close(tally)
    if asked.json:
        facts = {
            "steps": tally.steps,
            "gaps": tally.gaps,
            "refused": tally.refused,
            "outcomes": {o.name: n for o, n in tally.outcomes.items()},
            "tokens": tally.tokens,
            "alarms": [[step, int(flags)] for step, flags in tally.alarms],
        }
        say(asked, facts, "")


def _steps(asked: argparse.Namespace, profile: Profile) -> "Iterator[Step]":
    from tcuq.recording import load_stream
    from tcuq.watch import mqtt_lines, recorded_steps, serial_lines, steps_from

    if asked.source == "-":
        yield from steps_from(sys.stdin, profile.inputs, quantised=asked.quantised)
    elif asked.source.startswith(SERIAL):
        lines = serial_lines(asked.source.removeprefix(SERIAL), asked.baud)
        yield from steps_from(lines, profile.inputs, quantised=asked.quantised)
    elif asked.source.startswith(MQTT):
        lines = mqtt_lines(asked.source)
        yield from steps_from(lines, profile.inputs, quantised=asked.quantised)
    else:
        stream = load_stream(asked.source)
        if stream.kind != profile.inputs.kind:
            raise InputError(f"kind must be {profile.inputs.kind!r}, got a stream of {stream.kind}")
        yield from recorded_steps(stream, asked.rate)
