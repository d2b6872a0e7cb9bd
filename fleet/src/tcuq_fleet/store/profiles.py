# SPDX-License-Identifier: Apache-2.0
"""Profiles: names that records do not carry, so that alarms can name their cause in words."""

from collections.abc import Sequence
from typing import Any, LiteralString

from psycopg import Connection

REGISTER: LiteralString = """
INSERT INTO profiles (profile, health_names) VALUES (%s, %s)
ON CONFLICT (profile) DO UPDATE SET health_names = excluded.health_names
"""


def register_profile(
    connection: Connection[Any], profile: int, health_names: Sequence[str]
) -> None:
    """Store the names of a profile's health statistics; `profile` is the record's number."""
    signed = profile - 2**32 if profile >= 2**31 else profile
    connection.execute(REGISTER, [signed, list(health_names)])
