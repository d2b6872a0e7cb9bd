# SPDX-License-Identifier: Apache-2.0
"""The `fleet` commands: one module per command, except the acts of `fleet registry`."""

import argparse
from collections.abc import Iterator

from tcuq.cli.output import Commands, add_command
from tcuq_fleet.cli.configuration import Command
from tcuq_fleet.cli.ingest import Ingest
from tcuq_fleet.cli.judge import Judge
from tcuq_fleet.cli.migrate import Migrate
from tcuq_fleet.cli.registry import ACTS
from tcuq_fleet.cli.report import Report
from tcuq_fleet.cli.reshard import Reshard
from tcuq_fleet.cli.serve import Serve
from tcuq_fleet.cli.simulate import Simulate
from tcuq_fleet.cli.up import Up

COMMANDS: tuple[type[Command], ...] = (Up, Ingest, Migrate, Reshard, Judge, Report, Serve, Simulate)


def add_commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """Add the parsers of all `fleet` commands."""
    sentence = "store, judge and show the records of many devices"
    fleet = add_command(parsers, "fleet", sentence, "fleet up").add_subparsers(
        required=True, metavar="COMMAND"
    )
    for command in COMMANDS:
        yield command.add_to(fleet)
    sentence = "enrol, move, mute, retire and release devices; add gateways"
    registry = add_command(fleet, "registry", sentence, "fleet registry list").add_subparsers(
        required=True, metavar="ACT"
    )
    for act in ACTS:
        yield act.add_to(registry)
