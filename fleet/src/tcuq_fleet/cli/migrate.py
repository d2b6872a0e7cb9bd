# SPDX-License-Identifier: Apache-2.0
"""`fleet migrate`: bring the database's tables up to date, and name a profile's statistics."""

from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from tcuq_fleet.cli.configuration import Command, Words
from tcuq_fleet.cli.options import DatabaseOptions
from tcuq_fleet.cli.secrets import read_secret


class Migrate(DatabaseOptions, Command):
    """Bring the database's tables up to date."""

    example: ClassVar[str] = "migrate --database postgresql://localhost/tcuq"
    command_line_only: ClassVar[tuple[str, ...]] = ("roles",)

    profile: Words = Field(
        [],
        description="profile whose names of input health to store, so that alarms name their cause,"
        " repeatable",
    )
    roles: bool = Field(
        default=False,
        description="create the roles of owner, ingest, judge and serve (once, as a superuser)",
    )
    passwords: str | None = Field(
        None,
        description="with --roles: folder of files named after the roles, such as tcuq_ingest, that"
        " hold their passwords",
    )

    def run(self) -> None:
        """Migrate once."""
        from tcuq.profile.profile import Profile
        from tcuq_fleet.store.connection import MIGRATE, connect, database_errors
        from tcuq_fleet.store.directory import copy_directory
        from tcuq_fleet.store.migrate import create_roles, migrate
        from tcuq_fleet.store.places import Place, assign, check_count
        from tcuq_fleet.store.registry import Registry

        check_count(self.databases)

        profiles = [Profile.load(path) for path in self.profile]
        passwords = _read_passwords(Path(self.passwords)) if self.passwords else {}
        with ExitStack() as stack, database_errors():
            connections = [stack.enter_context(connect(url, MIGRATE)) for url in self.databases]
            for at, connection in enumerate(connections):
                if self.roles:
                    create_roles(connection, passwords)
                version = migrate(connection)
                assign(connection, Place(at, len(connections)))
            for profile in profiles:
                health = profile.signals.health
                names = () if health is None else health.names
                number = int(profile.sha256[:8], 16)
                Registry(connections[0]).register_profile(number, names)
            copy_directory(connections)
        self.print_result({"schema": version}, f"the database has schema {version}")


def _read_passwords(folder: Path) -> dict[str, str]:
    """Read the roles' passwords from files; a role without a file gets none."""
    from tcuq_fleet.store.migrate import ROLES

    files = {role: folder / role for role in ROLES}
    return {role: read_secret(str(file)) for role, file in files.items() if file.exists()}
