# SPDX-License-Identifier: Apache-2.0
"""`tcuq pack`: pack recorded streams into one file for replay."""

import argparse

from tcuq.cli._arguments import adder
from tcuq.cli.output import check_output, print_result
from tcuq.profile import Profile
from tcuq.stream import KINDS

SENTENCE = "pack recorded streams into one file for replay"
EXAMPLE = "pack calibration.npz field.npz -o archive.parquet"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add("sources", "streams to pack: .npz, or .csv and .parquet with one row per step", nargs="+")
    add("-o", "--output", "file of chunks to write, .parquet", required=True)
    add("--profile", "store the quantised bytes that its device gets; the fastest to replay")
    add(
        "--kind",
        "kind of the posteriors in .csv and .parquet",
        choices=KINDS,
        default="probabilities",
    )


def run(args: argparse.Namespace) -> None:
    """Write the file and count its steps."""
    from tcuq.replay import pack

    check_output(args.output, ".parquet")
    profile = None if args.profile is None else Profile.load(args.profile)
    steps = pack(args.sources, args.output, profile=profile, kind=args.kind)
    files = len(args.sources)
    facts = {"steps": steps, "files": files, "written": args.output}
    print_result(args, facts, f"{steps:,} steps of {files} files written to {args.output}")
