# SPDX-License-Identifier: Apache-2.0
"""The `fleet` commands: one module per command."""

import argparse
from collections.abc import Iterator

from tcuq.cli.output import Commands
from tcuq_fleet.cli import ingest, judge, migrate, registry, report, serve, simulate, up
from tcuq_fleet.cli.configuration import ConfiguredParser


def add_commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """Add the parsers of all `fleet` commands."""
    fleet = parsers.add_parser("fleet", help="store, judge and show the records of many devices")
    ConfiguredParser.commands.clear()
    subparsers = fleet.add_subparsers(
        required=True, metavar="COMMAND", parser_class=ConfiguredParser
    )
    for command in (up, ingest, migrate, judge, report, serve, simulate):
        yield command.add_parser(subparsers)
    yield from registry.add_parsers(subparsers)
