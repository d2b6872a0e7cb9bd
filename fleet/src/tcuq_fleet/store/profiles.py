# SPDX-License-Identifier: Apache-2.0
"""Profiles: names that records do not carry, so that alarms can name their cause in words."""

from collections.abc import Sequence
from typing import Any, LiteralString

from psycopg import Connection

from tcuq_fleet.wire import to_signed

REGISTER: LiteralString = """
INSERT INTO profiles (profile, health_names) VALUES (%s, %s)
ON CONFLICT (profile) DO UPDATE SET health_names = excluded.health_names
"""


def register_profile(
    connection: Connection[Any], profile: int, health_names: Sequence[str]
) -> None:
    """Store the names of a profile's health statistics; `profile` is the record's number."""
    connection.execute(REGISTER, [to_signed(profile, 32), list(health_names)])
