# SPDX-License-Identifier: Apache-2.0
"""Registry: what operators decide about devices, sites and gateways, one transaction per act."""

import getpass
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, LiteralString, NamedTuple

from psycopg import Connection

from tcuq.errors import InputError
from tcuq_fleet.wire import device_name, to_signed

CHUNK = 10_000

ENROL: LiteralString = """
INSERT INTO registry AS old (device, site, name, state, changed_by)
SELECT device, sites.site, nullif(entry.name, ''), 'new', %(by)s
FROM unnest(%(devices)s::bigint[], %(sites)s::text[], %(names)s::text[])
    AS entry (device, site, name) JOIN sites ON sites.name = entry.site
ON CONFLICT (device) DO UPDATE SET site = excluded.site, changed = now(), changed_by = %(by)s,
    name = coalesce(excluded.name, old.name),
    state = CASE WHEN old.state = 'retired' THEN 'new' ELSE old.state END
"""
MOVE_STORED: LiteralString = """
UPDATE devices SET site = registry.site FROM registry
WHERE devices.device = ANY(%s) AND registry.device = devices.device
    AND registry.site <> devices.site
"""
CREATE_SITES: LiteralString = """
INSERT INTO sites (name) SELECT DISTINCT unnest(%s::text[]) ON CONFLICT DO NOTHING
"""
GIVE_SITE: LiteralString = """
UPDATE sites SET owner = (SELECT owner FROM owners WHERE name = %(owner)s)
WHERE name = %(site)s RETURNING site
"""
OWNER_OF: LiteralString = """
SELECT owners.name FROM sites JOIN owners USING (owner) WHERE sites.name = %s
"""
# A device that is neither stored nor enrolled gets no row.
DECIDE: LiteralString = """
INSERT INTO registry AS old (device, state, muted_until, boot_released, note, changed_by)
SELECT %(device)s, %(state)s::device_state, %(until)s, %(boot)s, %(note)s, %(by)s
WHERE EXISTS (SELECT FROM devices WHERE device = %(device)s)
    OR EXISTS (SELECT FROM registry WHERE device = %(device)s)
ON CONFLICT (device) DO UPDATE SET changed = now(), changed_by = %(by)s,
    state = coalesce(%(set_state)s::device_state, old.state),
    muted_until = coalesce(excluded.muted_until, old.muted_until),
    boot_released = greatest(excluded.boot_released, old.boot_released),
    note = coalesce(excluded.note, old.note)
"""
LIST: LiteralString = """
SELECT device, sites.name, registry.name,
    CASE WHEN state = 'new' AND devices.device IS NOT NULL THEN 'active' ELSE
        coalesce(state, 'active')::text END,
    muted_until, quarantined.boot
FROM registry FULL JOIN (SELECT device, boot FROM quarantined) AS quarantined USING (device)
LEFT JOIN devices USING (device)
LEFT JOIN sites ON sites.site = coalesce(devices.site, registry.site)
WHERE %(site)s::text IS NULL OR sites.name = %(site)s
ORDER BY device LIMIT %(limit)s
"""
ADD_GATEWAY: LiteralString = """
INSERT INTO gateways AS old (gateway, owner, token_sha256, changed_by)
VALUES (%(name)s, (SELECT owner FROM owners WHERE name = %(owner)s), %(token)s, %(by)s)
ON CONFLICT (gateway) DO UPDATE SET owner = coalesce(excluded.owner, old.owner),
    token_sha256 = coalesce(excluded.token_sha256, old.token_sha256), changed = now(),
    changed_by = %(by)s
"""
NAME_STATISTICS: LiteralString = """
INSERT INTO profiles (profile, health_names) VALUES (%s, %s)
ON CONFLICT (profile) DO UPDATE SET health_names = excluded.health_names
"""


class Enrolment(NamedTuple):
    """One line of a file of devices; empty texts are not set."""

    device: int
    site: str
    name: str = ""
    owner: str = ""


class Entry(NamedTuple):
    """A device of the registry or of the quarantine, as it is listed."""

    device: str
    site: str | None
    name: str | None
    state: str
    muted_until: datetime | None
    quarantined_boot: int | None


class Registry:
    """Changes the registry's tables; `by` is who decides, by default this process's user."""

    def __init__(self, connection: Connection[Any], by: str | None = None) -> None:
        self._connection = connection
        self._by = by or getpass.getuser()

    def enrol(self, rows: Sequence[Enrolment]) -> int:
        """Enrol devices, create their sites and set the sites' owners; return how many devices."""
        with self._connection.transaction():
            self.enrol_sites(rows)
            for at in range(0, len(rows), CHUNK):
                some = rows[at : at + CHUNK]
                devices = [to_signed(row.device, 64) for row in some]
                self._connection.execute(
                    ENROL,
                    {
                        "devices": devices, "sites": [row.site for row in some],
                        "names": [row.name for row in some], "by": self._by,
                    },
                )  # fmt: skip
                self._connection.execute(MOVE_STORED, [devices])
        return len(rows)

    def enrol_sites(self, rows: Sequence[Enrolment]) -> None:
        """Create the sites of devices to be enrolled, and set their owners."""
        with self._connection.transaction():
            self._create_sites({row.site for row in rows})
            for site, owner in sorted({(row.site, row.owner) for row in rows if row.owner}):
                self._give_site(site, owner)

    def move(self, device: int, site: str) -> None:
        """Move a device to another site, which is created if it does not exist."""
        with self._connection.transaction():
            self.check(device)
            self.enrol([Enrolment(device, site)])

    def check(self, device: int) -> None:
        """Refuse a device that is neither stored nor enrolled."""
        self._decide(device)

    def mute(self, device: int, until: datetime, note: str | None = None) -> None:
        """Send no alerts about a device until a time; it is judged as before."""
        self._decide(device, until=until, note=note)

    def retire(self, device: int, note: str | None = None) -> None:
        """Store and judge no further records of a device; enrolling it again ends that."""
        self._decide(device, state="retired", note=note)

    def release(self, device: int) -> int:
        """Accept the boot of the device's quarantined record; return it."""
        with self._connection.transaction():
            row = self._connection.execute(
                "DELETE FROM quarantine WHERE device = %s RETURNING boot", [to_signed(device, 64)]
            ).fetchone()
            if row is None:
                raise InputError(f"device {device_name(device)} has no record in quarantine")
            self._decide(device, boot=int(row[0]))
        return int(row[0])

    def list(self, site: str | None = None, limit: int = 1000) -> list[Entry]:
        """Return the devices in the registry or in quarantine, in the order of their ids."""
        rows = self._connection.execute(LIST, {"site": site, "limit": limit})
        return [Entry(device_name(row[0]), *row[1:]) for row in rows]

    def add_gateway(
        self,
        name: str,
        sites: Iterable[str],
        owner: str | None = None,
        token_sha256: bytes | None = None,
    ) -> None:
        """Let a gateway speak for these sites, which are created if needed, and no others."""
        sites = sorted(set(sites))
        with self._connection.transaction():
            self._create_sites(sites)
            if owner is not None:
                self._create_owner(owner)
            for site in sites if owner is not None else ():
                self._give_site(site, str(owner))
            parameters = {"name": name, "owner": owner, "token": token_sha256, "by": self._by}
            self._connection.execute(ADD_GATEWAY, parameters)
            self._connection.execute("DELETE FROM gateway_sites WHERE gateway = %s", [name])
            self._connection.execute(
                "INSERT INTO gateway_sites SELECT %s, site FROM sites WHERE name = ANY(%s)",
                [name, sites],
            )

    def remove_gateway(self, name: str) -> None:
        """Refuse a gateway's messages from now on; its devices stay."""
        if not self._connection.execute("DELETE FROM gateways WHERE gateway = %s", [name]).rowcount:
            raise InputError(f"no gateway is named {name!r}: see  tcuq fleet registry list")

    def register_profile(self, profile: int, health_names: Sequence[str]) -> None:
        """Store the names of a profile's health statistics, so that alarms can name their cause.

        `profile` is the number of the profile in its records.
        """
        self._connection.execute(NAME_STATISTICS, [to_signed(profile, 32), list(health_names)])

    def _create_sites(self, names: Iterable[str]) -> None:
        self._connection.execute(CREATE_SITES, [list(names)])

    def _create_owner(self, name: str) -> None:
        self._connection.execute(
            "INSERT INTO owners (name) VALUES (%s) ON CONFLICT DO NOTHING", [name]
        )

    def _give_site(self, site: str, owner: str) -> None:
        """Set a site's owner; a site that has another one stays with it."""
        row = self._connection.execute(OWNER_OF, [site]).fetchone()
        if row is not None and row[0] != owner:
            raise InputError(
                f"site {site} belongs to {row[0]!r}, not to {owner!r}: change sites.owner first"
            )
        self._create_owner(owner)
        self._connection.execute(GIVE_SITE, {"site": site, "owner": owner})

    def _decide(
        self,
        device: int,
        state: str | None = None,
        until: datetime | None = None,
        boot: int | None = None,
        note: str | None = None,
    ) -> None:
        parameters = {
            "device": to_signed(device, 64), "state": state or "active", "set_state": state,
            "until": until, "boot": boot, "note": note, "by": self._by,
        }  # fmt: skip
        if not self._connection.execute(DECIDE, parameters).rowcount:
            raise InputError(f"device {device_name(device)} is neither stored nor enrolled")
