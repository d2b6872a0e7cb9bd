# SPDX-License-Identifier: Apache-2.0
"""`tcuq watch`: run a profile over steps as they arrive."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tcuq.cli._arguments import adder
from tcuq.cli.output import print_result
from tcuq.decision import steps_by_cause
from tcuq.errors import InputError
from tcuq.profile import Profile
from tcuq.recording import ENDINGS
from tcuq.stages.inputs import Inputs, device_health
from tcuq.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcuq.watch import Step

SENTENCE = "run a profile over steps as they arrive"
EXAMPLE = "watch monitor.json field.npz"
SERIAL, MQTT = "serial:", ("mqtt://", "mqtts://")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add("profile", "profile, .json")
    add("source", "stream file, - for standard input, serial:/dev/ttyUSB0 or mqtt://host/topic")
    add("--rate", "steps per second to read from a file, default: as fast as possible", type=float)
    add("--baud", "baud rate of a serial port", type=int, default=115_200)
    add("--quantised", "lines hold the integers that tcuq_step takes", action="store_true")


def run(args: argparse.Namespace) -> None:
    """Show every step on a terminal, alarms on a pipe, and totals at the end."""
    from tcuq.watch import Screen, Tally

    if args.rate is not None and not 0 < args.rate <= 1e6:
        raise InputError(f"rate must lie above 0 and up to 1e6 steps per second, got {args.rate}")
    profile = Profile.load(args.profile)
    tally = Tally(profile)
    screen, failed = Screen(sys.stdout, args.source), True
    try:
        for step in _steps(args, profile):
            decision = tally.update(step)
            if tally.invalid == 1 and decision is None and not step.gap:
                sys.stderr.write(f"tcuq: the first invalid line: {tally.first_invalid}\n")
            if not args.json:
                screen.show(tally, decision)
        failed = False
    except KeyboardInterrupt:  # how a user stops watching
        failed = False
    finally:
        if not args.json:
            screen.close(tally, failed=failed)
    if args.json:
        facts = {
            "steps": tally.steps,
            "gaps": tally.gaps,
            "invalid": tally.invalid,
            "without_health": tally.without_health,
            "outcomes": {o.name: n for o, n in tally.outcomes.items()},
            "tokens": tally.tokens,
            "alarms": steps_by_cause(tally.alarms),
        }
        print_result(args, facts, "")


def _steps(args: argparse.Namespace, profile: Profile) -> "Iterator[Step]":
    from tcuq.watch import mqtt_lines, recorded_steps, serial_lines, steps_from

    if args.source == "-":
        yield from steps_from(sys.stdin, profile, quantised=args.quantised)
    elif args.source.startswith(SERIAL):
        lines = serial_lines(args.source.removeprefix(SERIAL), args.baud)
        yield from steps_from(lines, profile, quantised=args.quantised)
    elif args.source.startswith(MQTT):
        yield from steps_from(mqtt_lines(args.source), profile, quantised=args.quantised)
    elif Path(args.source).suffix not in ENDINGS:
        raise InputError(
            f"{args.source}: the source must be a stream that ends in {' or '.join(ENDINGS)},"
            " or one of -, serial:PORT, mqtt://HOST/TOPIC"
        )
    else:
        stream = Stream.load(args.source)
        inputs = Inputs(profile.inputs)
        posteriors, features, health, _ = inputs.unpack(stream, None, None, ())
        inputs.check(posteriors, features)
        device_health(health, profile.signals.health, len(stream))
        yield from recorded_steps(stream, args.rate)
