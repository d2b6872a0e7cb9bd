# SPDX-License-Identifier: Apache-2.0
"""Gateways: the tokens and sites of all gateways, read again when they changed."""

import time
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import Cursor

FRESH_S = 5.0

VERSION: LiteralString = """
SELECT (SELECT (count(*), max(changed)) FROM gateways)::text,
    (SELECT count(*) FROM gateway_sites)
"""
READ: LiteralString = """
SELECT gateway, token_sha256, array_remove(array_agg(sites.name), NULL)
FROM gateways LEFT JOIN gateway_sites USING (gateway) LEFT JOIN sites USING (site) GROUP BY gateway
"""


@dataclass(frozen=True, slots=True)
class Gateway:
    """The SHA-256 of a gateway's token, if it has one, and the sites for which it speaks."""

    token_sha256: bytes | None
    sites: frozenset[str]


class Gateways:
    """A copy of the gateways that is at most a few seconds old."""

    def __init__(self) -> None:
        self._gateways: dict[str, Gateway] = {}
        self._version: tuple[Any, ...] | None = None
        self._checked = 0.0

    def get(self, cursor: Cursor[Any], name: str) -> Gateway | None:
        """Return a gateway, or None if no operator added it."""
        if self._version is None or time.monotonic() - self._checked > FRESH_S:
            version = cursor.execute(VERSION).fetchone()
            if version != self._version:
                self._gateways = {
                    gateway: Gateway(token and bytes(token), frozenset(sites))
                    for gateway, token, sites in cursor.execute(READ)
                }
                self._version = version
            self._checked = time.monotonic()
        return self._gateways.get(name)
