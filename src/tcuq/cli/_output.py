# SPDX-License-Identifier: Apache-2.0
"""Output that commands share: print a result, count a trace, check an output path first."""

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tcuq.decision import Trace
from tcuq.errors import TcuqError
from tcuq.profile.settings import AlarmFlag
from tcuq.stages.budget import Outcome

Commands = Any  # argparse's class of subparsers has no public name


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
    at = np.flatnonzero(trace.alarm).tolist()
    return {
        "steps": len(trace),
        "outcomes": {outcome.name: int((trace.outcome == outcome).sum()) for outcome in Outcome},
        "exceeded": int(trace.exceeded.sum()),
        "mean_risk": float(trace.risk.mean()),
        "alarms": alarm_steps((step, int(trace.alarm[step])) for step in at),
    }


def alarm_steps(alarms: Iterable[tuple[int, int]]) -> dict[str, list[int]]:
    """Steps, numbered from 0, at which each channel alarmed, from (step, flags)."""
    listed = list(alarms)
    return {flag.name or "": [step for step, flags in listed if flags & flag] for flag in AlarmFlag}
