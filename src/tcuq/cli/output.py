# SPDX-License-Identifier: Apache-2.0
"""What commands share, those of extensions too: add a parser, print a result, check a path."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tcuq.decision import Trace, steps_by_cause
from tcuq.errors import TcuqError
from tcuq.profile import Profile
from tcuq.stages.budget import Outcome
from tcuq.stream import Stream

Commands = Any  # argparse's class of subparsers has no public name
LISTED = 8  # alarms per cause in the text


def add_command(
    commands: Commands, name: str, sentence: str, example: str
) -> argparse.ArgumentParser:
    """Add a command's parser; its help opens with one sentence and ends with one example."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=sentence,
        description=f"{sentence[0].upper()}{sentence[1:]}.",
        epilog=f"example:\n  tcuq {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def check_output(path: str, *suffixes: str) -> None:
    """Refuse a path that cannot be written, before the work starts."""
    if Path(path).suffix not in suffixes:
        raise TcuqError(f"{path!r}: the output's name must end in {' or '.join(suffixes)}")
    if Path(path).is_dir():
        raise TcuqError(f"{path}: is a folder")
    if not Path(path).parent.is_dir():
        raise TcuqError(f"{path}: there is no folder {Path(path).parent}")


def print_result(args: argparse.Namespace, facts: Mapping[str, Any], text: str) -> None:
    """Print the facts as JSON if `--json` was given, else the text."""
    print(json.dumps(facts, allow_nan=False) if args.json else text)


def trace_facts(trace: Trace) -> dict[str, Any]:
    """The counts of a trace: steps, outcomes, exceedances and alarms."""
    return {
        "steps": len(trace),
        "outcomes": {outcome.name: int((trace.outcome == outcome).sum()) for outcome in Outcome},
        "exceeded": int(trace.exceeded.sum()),
        "mean_risk": float(trace.risk.mean()),
        "alarms": steps_by_cause(trace.alarms.items()),
        "amber": int(trace.amber.sum()),
        "promised": int(trace.promised.sum()),
    }


def alarm_lines(profile: Profile, stream: Stream, trace: Trace) -> list[str]:
    """One line per cause of an alarm, and one if a channel had nothing to read."""
    lines = [
        f"alarm    {cause} at step {', '.join(f'{step:,}' for step in steps[:LISTED])}"
        + (f" and {len(steps) - LISTED:,} more" if len(steps) > LISTED else "")
        for cause, steps in steps_by_cause(trace.alarms.items()).items()
    ] or ["no alarm" if profile.alarm is not None else "no alarm: this profile has none"]
    if profile.alarm is not None and profile.signals.health is not None and stream.health is None:
        lines.append("note     the stream has no input health, so that channel cannot alarm")
    if profile.promise is not None:
        void = f"; void since step {next(iter(trace.alarms)):,}" if trace.alarms else ""
        lines.append(f"promise  {profile.promise.sentence}")
        lines.append(f"         covers {int(trace.promised.sum()):,} accepted steps{void}")
    return lines
