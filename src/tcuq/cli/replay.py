# SPDX-License-Identifier: Apache-2.0
"""`tcuq replay`: run profiles over many recorded streams and compare them."""

import argparse
from pathlib import Path

from tcuq.cli._arguments import add_archive, adder, paths_by_name
from tcuq.cli.output import print_result
from tcuq.errors import InputError, StreamError
from tcuq.files import atomic_write
from tcuq.profile import Profile

SENTENCE = "run profiles over many recorded streams and compare them"
EXAMPLE = "replay monitor.json archive.parquet -o replayed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add(
        "profiles",
        "profiles to compare, .json; the first is the present one",
        nargs="+",
        metavar="profile",
    )
    add_archive(parser)
    add("-o", "--output", "folder for the results; an interrupted run resumes there", required=True)
    add("--decisions", "also store the decision of every step, one byte each", action="store_true")


def run(args: argparse.Namespace) -> None:
    """Replay, write the results and a page, and print the comparison."""
    from tcuq.replay import replay_files
    from tcuq.replay.comparison import page

    if args.threads is not None and args.threads < 1:
        raise InputError(f"threads must be at least 1, got {args.threads}")
    profiles = {name: Profile.load(path) for name, path in paths_by_name(args.profiles).items()}
    comparison = replay_files(
        profiles, [args.archive], args.output, threads=args.threads, decisions=args.decisions
    )
    folder = Path(args.output)
    with atomic_write(folder / "report.html") as file:
        file.write(page(comparison, f"Replay of {Path(args.archive).name}").encode())
    written = f"one row per stream: {folder / 'streams.parquet'}; page: {folder / 'report.html'}"
    print_result(args, comparison.facts(), "\n".join([*comparison.lines(), written]))
    if comparison.damaged:
        raise StreamError(
            f"{len(comparison.damaged)} of the input's row groups could not be read; the rest is"
            " done. Repair the files and run the same command again"
        )
