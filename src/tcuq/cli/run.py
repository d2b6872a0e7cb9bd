# SPDX-License-Identifier: Apache-2.0
"""`tcuq run`: run a profile over a recorded stream."""

import argparse

import numpy as np

from tcuq.cli._arguments import adder
from tcuq.cli.output import alarm_lines, check_output, print_result, trace_facts
from tcuq.decision import Trace
from tcuq.files import atomic_write
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.progress import Progress
from tcuq.stream import Stream

SENTENCE = "run a profile over a recorded stream"
EXAMPLE = "run monitor.json field.npz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add("profile", "profile, .json")
    add("stream", "recorded stream, .npz or .parquet")
    add("-o", "--output", "write the decision of every step, .npz")


def run(args: argparse.Namespace) -> None:
    """Run, count outcomes and alarms, and write the decisions if an output is given."""
    if args.output is not None:
        check_output(args.output, ".npz")
    profile, stream = Profile.load(args.profile), Stream.load(args.stream)
    with Progress("steps", total=len(stream)) as progress:
        trace = Monitor(profile).run(stream, progress=progress.advance)
    if args.output is not None:
        with atomic_write(args.output) as file:
            np.savez_compressed(file, **{n: getattr(trace, n) for n in Trace.__slots__})
    facts = trace_facts(trace)
    text = [f"{len(trace):,} steps, mean risk {trace.risk.mean():.4f}"]
    text += [f"{name:<8} {n:>10,}  {n / len(trace):7.2%}" for name, n in facts["outcomes"].items()]
    text += alarm_lines(profile, stream, trace)
    print_result(args, facts, "\n".join(text))
