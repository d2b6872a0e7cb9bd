# SPDX-License-Identifier: Apache-2.0
"""`fleet reshard`: from n databases to 2 n."""

from typing import ClassVar

from pydantic import Field

from tcuq_fleet.cli.configuration import Command
from tcuq_fleet.cli.options import DatabaseOptions, DatabaseUrls
from tcuq_fleet.cli.secrets import with_password


class Reshard(DatabaseOptions, Command):
    """Move half of the devices of each database to a new one."""

    example: ClassVar[str] = "reshard --database postgresql://a/fleet --to postgresql://b/fleet"
    command_line_only: ClassVar[tuple[str, ...]] = ("to",)

    to: DatabaseUrls = Field(
        repr=False, description="URL of an empty database, one for each present one, repeatable"
    )

    def run(self) -> None:
        """Reshard once, or end what was interrupted."""
        from tcuq_fleet.store.reshard import reshard

        file = self.database_password_file
        new = self.to if file is None else [with_password(url, file) for url in self.to]
        result = reshard(self.databases, new)
        self.print_result(
            {"moved": result.moved, "paused_s": result.paused_s},
            f"{result.moved:,} devices moved; the databases took no records for at most"
            f" {result.paused_s:.1f} s: name the old and the new databases, in this order, as"
            " --database of every process",
        )
