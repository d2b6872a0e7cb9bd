# SPDX-License-Identifier: Apache-2.0
"""`fleet report`: judge a folder of record files, without any server."""

import argparse
from pathlib import Path

from tcuq.cli.output import Commands, print_result
from tcuq.errors import InputError
from tcuq_fleet.cli.options import add_keys, add_level, read_keys


def add_parser(parsers: Commands) -> argparse.ArgumentParser:
    """Add the parser of `fleet report`."""
    parser: argparse.ArgumentParser = parsers.add_parser(
        "report", help="judge a folder of record files, without any server"
    )
    parser.add_argument("folder", help="folder of record files; each folder in it is one site")
    add_keys(parser)
    add_level(parser)
    parser.set_defaults(command=_report)
    return parser


def _report(args: argparse.Namespace) -> None:
    from tcuq_fleet.report.folder import read_folder
    from tcuq_fleet.report.summary import render_text, report

    if not 0 <= args.share <= 1:
        raise InputError(f"share must lie in [0, 1], got {args.share}")
    fleet = read_folder(Path(args.folder), read_keys(args.keys))
    summary = report(fleet, args.level, args.share)
    print_result(args, summary, render_text(summary))
