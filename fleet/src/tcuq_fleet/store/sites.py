# SPDX-License-Identifier: Apache-2.0
"""Sites and gateways: names to numbers, which records may create a site, who may send for it.

Only a device that the store does not know yet creates a site, and only its first one: a record that
is refused leaves no row. The limits are counted in the database, so that all workers share them.
"""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import Cursor

from tcuq_fleet.store.batch import GATEWAY_ONLY, UNKNOWN, Part
from tcuq_fleet.store.claims import Claims
from tcuq_fleet.store.connection import PROBE, DatabaseUnavailableError, connected

CREATE_LOCK = 0x74637572  # advisory: workers create sites one after another
UNKNOWN_FOR_S = 5.0
MAX_UNKNOWN = 10_000
GATEWAYS_FRESH_S = 5.0
CREATING = ("open", "authenticated")  # claims that may create sites

LOOK_UP: LiteralString = "SELECT name, site FROM sites WHERE name = ANY(%s)"
# Names that devices claim which this database does not know yet.
CLAIMED: LiteralString = """
SELECT DISTINCT name FROM unnest(%(names)s::text[], %(devices)s::bigint[]) AS claim (name, device)
WHERE NOT EXISTS (SELECT FROM devices WHERE devices.device = claim.device)
    AND NOT EXISTS (SELECT FROM registry WHERE registry.device = claim.device
        AND (site IS NOT NULL OR state = 'retired'))
"""
_WITHIN_LIMITS: LiteralString = """
LIMIT greatest(0, least(%(total)s - (SELECT count(*) FROM sites),
    %(per_hour)s - (SELECT count(*) FROM sites WHERE created > now() - interval '1 hour')))
ON CONFLICT DO NOTHING
"""
CREATE: LiteralString = "INSERT INTO sites (name)" + CLAIMED + _WITHIN_LIMITS
CREATE_FIRST: LiteralString = (
    """
INSERT INTO sites (name) SELECT name FROM unnest(%(names)s::text[]) AS claim (name)
WHERE NOT EXISTS (SELECT FROM sites WHERE sites.name = claim.name)
"""  # noqa: S608 - literals
    + _WITHIN_LIMITS
)
COPY_SITES: LiteralString = """
INSERT INTO sites (name, site) OVERRIDING SYSTEM VALUE
SELECT * FROM unnest(%s::text[], %s::integer[]) ON CONFLICT DO NOTHING
"""
GATEWAYS_VERSION: LiteralString = """
SELECT (SELECT (count(*), max(changed)) FROM gateways)::text,
    (SELECT count(*) FROM gateway_sites)
"""
READ_GATEWAYS: LiteralString = """
SELECT gateway, token_sha256, array_remove(array_agg(sites.name), NULL)
FROM gateways LEFT JOIN gateway_sites USING (gateway) LEFT JOIN sites USING (site) GROUP BY gateway
"""


log = logging.getLogger("tcuq_fleet.store.sites")


class Sites:
    """The numbers of sites; a connection has its own, because a number counts after its COMMIT.

    Of several databases the first creates sites; `first` asks it, and the others copy its numbers.
    """

    def __init__(self, claims: Claims, first: "FirstDatabase | None" = None) -> None:
        self._claims, self._first = claims, first
        self._numbers: dict[str, int] = {}
        self._unknown_until: dict[str, float] = {}

    def numbers(self, cursor: Cursor[Any], parts: Iterable[Part]) -> Mapping[str, int]:
        """Return the numbers of the sites of these parts; 0 if a site is unknown."""
        parts = list(parts)
        names: set[str] = set()
        for part in parts:
            names.update([part.site] if isinstance(part.site, str) else part.site)
        unknown = names - self._numbers.keys()
        now = time.monotonic()
        requested = [name for name in unknown if self._unknown_until.get(name, 0.0) <= now]
        self._look_up(cursor, requested)
        unknown -= self._numbers.keys()
        if unknown and self._claims.claim in CREATING and (wanted := self._wanted(parts, unknown)):
            self._create(cursor, wanted)
        self._remember_unknown([name for name in requested if name not in self._numbers], now)
        return {name: self._numbers.get(name, UNKNOWN) for name in names}

    def forget(self) -> None:
        """Look every site up again."""
        self._numbers.clear()

    def _look_up(self, cursor: Cursor[Any], names: Sequence[str]) -> None:
        if names:
            self._numbers.update(cursor.execute(LOOK_UP, [list(names)]).fetchall())

    def _wanted(self, parts: Iterable[Part], unknown: set[str]) -> dict[int, str]:
        """Return for each device that names only unknown sites the first of them."""
        wanted: dict[int, str] = {}
        settled = set()
        for part in parts:
            if isinstance(part.site, str):
                continue  # a gateway creates no site
            if self._claims.claim == "authenticated" and part.trust == GATEWAY_ONLY:
                continue  # nor does a device that anybody may have named
            devices = part.records["device"].view("<i8").tolist()
            for device, name in zip(devices, part.site, strict=True):
                if name in unknown:
                    wanted.setdefault(device, name)
                else:
                    settled.add(device)
        return {device: name for device, name in wanted.items() if device not in settled}

    def _create(self, cursor: Cursor[Any], wanted: Mapping[int, str]) -> None:
        names = list(wanted.values())
        claim = {"names": names, "devices": list(wanted)}
        if self._first is None:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [CREATE_LOCK])
            cursor.execute(CREATE, {**claim, **_limits(self._claims)})
        elif claimed := [name for (name,) in cursor.execute(CLAIMED, claim)]:
            numbers = self._first.site_numbers(claimed)
            cursor.execute(COPY_SITES, [list(numbers), list(numbers.values())])
        self._look_up(cursor, names)

    def _remember_unknown(self, names: Sequence[str], now_s: float) -> None:
        """Look these names up again only after some seconds; the memory for it is bounded."""
        if len(self._unknown_until) > MAX_UNKNOWN:
            self._unknown_until.clear()
        for name in names[:MAX_UNKNOWN]:
            self._unknown_until[name] = now_s + UNKNOWN_FOR_S


class FirstDatabase:
    """The first of several databases, which gives sites their numbers."""

    def __init__(self, database: str, claims: Claims) -> None:
        self._database, self._claims = database, claims
        self._away_until = 0.0

    def site_numbers(self, names: Sequence[str]) -> dict[str, int]:
        """Create missing sites within the limits; return the numbers of those that exist.

        While that database is away there are none: such records are refused, and sent again later.
        """
        if time.monotonic() < self._away_until:
            return {}
        try:
            with connected(self._database, PROBE) as connection, connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", [CREATE_LOCK])
                connection.execute(CREATE_FIRST, {"names": list(names), **_limits(self._claims)})
                return dict(connection.execute(LOOK_UP, [list(names)]).fetchall())
        except DatabaseUnavailableError as error:
            log.warning("no new site: the first database is away: %s", error)
            self._away_until = time.monotonic() + UNKNOWN_FOR_S
            return {}


def _limits(claims: Claims) -> dict[str, int]:
    return {"total": claims.max_sites, "per_hour": claims.sites_per_hour}


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
        if self._version is None or time.monotonic() - self._checked > GATEWAYS_FRESH_S:
            version = cursor.execute(GATEWAYS_VERSION).fetchone()
            if version != self._version:
                self._gateways = {
                    gateway: Gateway(token and bytes(token), frozenset(sites))
                    for gateway, token, sites in cursor.execute(READ_GATEWAYS)
                }
                self._version = version
            self._checked = time.monotonic()
        return self._gateways.get(name)
