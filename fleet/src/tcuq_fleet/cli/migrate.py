# SPDX-License-Identifier: Apache-2.0
"""`fleet migrate`: bring the database's tables up to date, and name a profile's statistics."""

import argparse
from pathlib import Path

from tcuq.cli.output import Commands, print_result
from tcuq_fleet.cli.options import add_database
from tcuq_fleet.cli.secrets import read_secret


def add_parser(parsers: Commands) -> argparse.ArgumentParser:
    """Add the parser of `fleet migrate`."""
    parser: argparse.ArgumentParser = parsers.add_parser(
        "migrate", help="bring the database's tables up to date"
    )
    add_database(parser)
    parser.add_argument(
        "--profile", action="append", default=[], metavar="PROFILE.json",
        help="profile whose names of input health to store, so that alarms name their cause",
    )  # fmt: skip
    parser.add_argument(
        "--roles", action="store_true",
        help="create the roles of owner, ingest, judge and serve (once, as a superuser)",
    )  # fmt: skip
    parser.add_argument(
        "--passwords", metavar="FOLDER",
        help="with --roles: set passwords from files named after the roles, such as tcuq_ingest",
    )  # fmt: skip
    parser.set_defaults(command=_migrate)
    return parser


def _migrate(args: argparse.Namespace) -> None:
    from tcuq.profile.profile import Profile
    from tcuq_fleet.store.connection import MIGRATE, connect, database_errors
    from tcuq_fleet.store.migrate import create_roles, migrate
    from tcuq_fleet.store.profiles import register_profile

    profiles = [Profile.load(path) for path in args.profile]
    passwords = _passwords(args.passwords) if args.passwords else {}
    with connect(args.database, MIGRATE) as connection, database_errors():
        if args.roles:
            create_roles(connection, passwords)
        version = migrate(connection)
        for profile in profiles:
            health = profile.signals.health
            names = () if health is None else health.names
            register_profile(connection, int(profile.sha256[:8], 16), names)
    print_result(args, {"schema": version}, f"the database has schema {version}")


def _passwords(folder: str) -> dict[str, str]:
    """Read the roles' passwords from files; a role without a file gets none."""
    from tcuq_fleet.store.migrate import ROLES

    files = {role: Path(folder) / role for role in ROLES}
    return {role: read_secret(str(file)) for role, file in files.items() if file.exists()}
