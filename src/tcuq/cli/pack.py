# SPDX-License-Identifier: Apache-2.0
"""`tcuq pack`: pack recorded streams into one file for replay."""

import argparse

from tcuq.cli.output import Commands, add_command, check_output, print_result
from tcuq.profile import Profile
from tcuq.stream import KINDS


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Add the command's parser."""
    parser = add_command(
        commands,
        "pack",
        "pack recorded streams into one file for replay",
        "pack calibration.npz field.npz -o archive.parquet",
    )
    parser.add_argument(
        "sources",
        nargs="+",
        help="streams to pack: .npz, or .csv and .parquet with one row per step",
    )
    parser.add_argument("-o", "--output", required=True, help="file of chunks to write, .parquet")
    parser.add_argument(
        "--profile", help="store the quantised bytes that its device gets; the fastest to replay"
    )
    parser.add_argument(
        "--kind",
        choices=KINDS,
        default="probabilities",
        help="kind of the posteriors in .csv and .parquet, default probabilities",
    )
    return parser


def run(args: argparse.Namespace) -> None:
    """Write the file and count its steps."""
    from tcuq.replay import pack

    check_output(args.output, ".parquet")
    profile = None if args.profile is None else Profile.load(args.profile)
    steps = pack(args.sources, args.output, profile=profile, kind=args.kind)
    files = len(args.sources)
    facts = {"steps": steps, "files": files, "written": args.output}
    print_result(args, facts, f"{steps:,} steps of {files} files written to {args.output}")
