# SPDX-License-Identifier: Apache-2.0
"""`tcuq recalibrate`: refresh a profile's reference from streams of the field."""

import argparse

from tcuq.cli._arguments import add_archive, adder
from tcuq.cli.output import check_output, print_result
from tcuq.errors import FitError
from tcuq.profile import Profile

SENTENCE = "refresh a profile's reference from streams of the field"
EXAMPLE = "recalibrate monitor.json archive.parquet -o refreshed.json --accept"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add("profile", "profile as it was fitted, .json")
    add_archive(parser)
    add("-o", "--output", "profile to write, .json", required=True)
    add("--accept", "write the profile despite objections", action="store_true")


def run(args: argparse.Namespace) -> None:
    """Recalibrate, compare old and new, and write the new profile unless there are objections."""
    from tcuq.replay.recalibration import recalibrate

    check_output(args.output, ".json")
    result = recalibrate(Profile.load(args.profile), [args.archive], threads=args.threads)
    written = args.accept or not result.objections
    if written:
        result.profile.save(args.output)
    facts = result.comparison.facts() | {
        "beyond": dict(result.beyond),
        "objections": list(result.objections),
        "written": args.output if written else None,
    }
    shares = (f"{100 * share:.1f} % {signal}" for signal, share in result.beyond.items())
    lines = [
        *result.comparison.lines(),
        f"blocks beyond the present 2 % edge: {', '.join(shares)}",
        *(f"objection: {objection}" for objection in result.objections),
    ]
    print_result(args, facts, "\n".join(lines + [f"written to {args.output}"] * written))
    if not written:
        raise FitError(
            f"{args.output} was not written: read the objections, then run it with --accept"
        )
