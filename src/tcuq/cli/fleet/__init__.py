# SPDX-License-Identifier: Apache-2.0
"""`fleet`: the commands around many devices."""

import argparse
from collections.abc import Iterator

from tcuq.cli.fleet import ingesting, judging, serving, simulating, starting
from tcuq.cli.printing import Commands


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parsers of the group."""
    fleet = parsers.add_parser("fleet", help="store, judge and show the records of many devices")
    below = fleet.add_subparsers(required=True, metavar="COMMAND")
    for room in (starting, ingesting, judging, serving, simulating):
        yield from room.commands(below)
