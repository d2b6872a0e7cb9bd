# SPDX-License-Identifier: Apache-2.0
"""`fleet`: commands for many devices."""

import argparse
from collections.abc import Iterator

from tcuq.cli import fleet_serving
from tcuq.cli.printing import Commands


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parsers of these commands."""
    fleet = parsers.add_parser("fleet", help="many devices: see them")
    own = fleet.add_subparsers(required=True, metavar="COMMAND")
    yield from fleet_serving.commands(own)
