# SPDX-License-Identifier: Apache-2.0
"""`fleet migrate`: bring the database's tables up to date."""

import argparse

from tcuq.cli._output import Commands, print_result
from tcuq.cli.fleet.options import add_database
from tcuq.errors import InputError


def add_parser(parsers: Commands) -> argparse.ArgumentParser:
    """Add the parser of `fleet migrate`."""
    parser: argparse.ArgumentParser = parsers.add_parser(
        "migrate", help="bring the database's tables up to date"
    )
    add_database(parser)
    parser.set_defaults(command=_migrate)
    return parser


def _migrate(args: argparse.Namespace) -> None:
    import psycopg

    from tcuq.fleet.store.migrate import migrate

    try:
        with psycopg.connect(args.database, autocommit=True) as connection:
            version = migrate(connection)
    except psycopg.OperationalError as error:
        raise InputError(f"the database: {str(error).strip()}") from None
    print_result(args, {"schema": version}, f"the database has schema {version}")
