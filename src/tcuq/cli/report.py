# SPDX-License-Identifier: Apache-2.0
"""`tcuq report`: one HTML page on what profiles would have done on a stream."""

import argparse
from pathlib import Path

from tcuq.cli._arguments import add_measures, adder, paths_by_name
from tcuq.cli.output import check_output, print_result
from tcuq.files import atomic_write
from tcuq.profile import Profile
from tcuq.stream import Stream

SENTENCE = "write one HTML page on profiles and a recorded stream"
EXAMPLE = "report monitor.json field.npz -o report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add(
        "profiles",
        "profiles to report on, .json; several are compared",
        nargs="+",
        metavar="profile",
    )
    add("stream", "recorded stream, .npz or .parquet")
    add("-o", "--output", "page to write, .html", required=True)
    add_measures(parser)


def run(args: argparse.Namespace) -> None:
    """Run every profile over the stream and write the page."""
    from tcuq.reports import report

    check_output(args.output, ".html")
    profiles = {name: Profile.load(path) for name, path in paths_by_name(args.profiles).items()}
    stream = Stream.load(args.stream)
    name = Path(args.stream).name
    page = report(profiles, stream, name, window=args.window, rounds=args.rounds).encode()
    with atomic_write(args.output) as file:
        file.write(page)
    facts = {
        "profiles": {name: profile.sha256 for name, profile in profiles.items()},
        "stream": stream.sha256,
        "bytes": len(page),
        "written": args.output,
    }
    print_result(args, facts, f"{len(page):,} bytes written to {args.output}")
