# SPDX-License-Identifier: Apache-2.0
"""Changed: the devices that differ from their own past more than calm peers do, of each owner.

Benjamini and Hochberg's procedure on the devices of one owner, so that an owner's devices change no
verdict of another's. A device without enough past epochs, or without enough calm peers, is not
tested. Groups of which half the devices or more changed stand for their devices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString, Self

import numpy as np
from psycopg import Connection

from tcuq_fleet.judge import change_store
from tcuq_fleet.judge.change import (
    EVIDENCE_ROSE,
    MIN_REFERENCE,
    Array,
    bits_of_buckets_q8,
    change_bits_q8,
)
from tcuq_fleet.judge.change_state import Key
from tcuq_fleet.judge.databases import in_each
from tcuq_fleet.judge.ebh import Discovery, discover_each
from tcuq_fleet.judge.evidence_counts import EvidenceCounts, Flags, GroupKey
from tcuq_fleet.judge.groups import MIN_DEVICES, cover

MAX_CHANGED = 100_000  # listed of an owner, those with the most evidence
# A device shows the larger evidence of its closed and its running epoch above its past.
RISE: LiteralString = """
    least(1023, greatest(0, floor(greatest(d.evidence, d.closed_evidence, 0) - c.past_evidence)))
"""
_TESTED: LiteralString = """
FROM devices AS d JOIN changes AS c ON c.device = d.device AND c.profile = d.profile
WHERE c.score >= 0 AND NOT d.mixed AND d.last_seen >= %(since)s AND NOT EXISTS (
    SELECT FROM registry WHERE registry.device = d.device AND state = 'retired')
"""
COUNT: LiteralString = (
    """
SELECT string_agg(int4send(owner) || int4send(profile) || int4send(firmware) || int4send(site)
    || int4send(score) || int4send(rise) || int4send(devices), ''::bytea)
FROM (
    SELECT c.owner, d.profile, d.firmware, d.site, c.score::integer, """
    + RISE
    + """::integer AS rise, count(*)::integer AS devices
"""
    + _TESTED
    + """
    GROUP BY 1, 2, 3, 4, 5, 6
) AS counted
GROUP BY site & 15
"""
)
_KEYS = ("owner", "profile", "firmware", "site", "score", "rise")
_ROW = np.dtype([(name, ">i4") for name in (*_KEYS, "devices")])
LIST: LiteralString = (
    """
SELECT device, owner, profile, firmware, site, score, rise, moved FROM (
    SELECT d.device, c.owner, d.profile, d.firmware, d.site, c.score, """
    + RISE
    + """::integer AS rise, c.moved,
        row_number() OVER (PARTITION BY c.owner ORDER BY c.score DESC, d.device) AS place
"""
    + _TESTED.replace(
        "WHERE",
        """JOIN unnest(%(owners)s::integer[], %(profiles)s::integer[], %(scores)s::integer[],
    %(rises)s::integer[]) AS least (owner, profile, score, rise)
    ON least.owner = c.owner AND least.profile = c.profile
WHERE""",
        1,
    )
    + "    AND (c.score >= least.score OR "
    + RISE
    + """ >= least.rise)
) AS ranked
WHERE place <= %(limit)s
"""
)


@dataclass(frozen=True, eq=False)
class ChangeJudgement:
    """How many devices of each owner were tested and changed, and the groups that explain it."""

    owners: list[int]
    tested: Array
    discoveries: list[Discovery]
    groups: dict[GroupKey, int]  # of which half the devices or more changed: so many

    @property
    def changed(self) -> int:
        """The number of changed devices."""
        return sum(discovery.count for discovery in self.discoveries)

    @classmethod
    def none(cls) -> Self:
        """Return the judgement while no device can be tested."""
        return cls([], np.empty(0, np.int64), [], {})


def judge_changes(
    connections: Sequence[Connection[Any]],
    level: float,
    since: datetime,
    owners_of_sites: Mapping[int, int],
    active: frozenset[GroupKey] = frozenset(),
) -> ChangeJudgement:
    """Fold new epochs into the store, judge every owner's devices and list the changed ones."""
    change_store.update(connections, active)
    for connection in connections:
        connection.execute("DELETE FROM changed")
    references = {
        key: pair
        for key, pair in change_store.references(connections[0]).items()
        if pair[0].sum() >= MIN_REFERENCE
    }
    if not references:
        return ChangeJudgement.none()
    counted = in_each(connections, lambda connection: _count(connection, since))
    rows = np.frombuffer(b"".join(counted), _ROW)
    bits_q8 = np.full(len(rows), -1, np.int64)
    for (owner, profile), pair in references.items():
        peers = np.flatnonzero((rows["owner"] == owner) & (rows["profile"] == profile))
        bits_q8[peers] = change_bits_q8(rows["score"][peers], rows["rise"][peers], pair)
    rows, bits_q8 = rows[bits_q8 >= 0], bits_q8[bits_q8 >= 0]
    owners, part = np.unique(rows["owner"], return_inverse=True)
    devices = rows["devices"].astype(np.int64)
    tested = np.bincount(part, devices, len(owners)).astype(np.int64)
    discoveries = discover_each(part, bits_q8, devices, tested, level)
    cutoffs = np.array([_cutoff(discovery) for discovery in discoveries], np.int64)
    flagged = bits_q8 >= cutoffs[part]
    of_owners = dict(zip(owners.tolist(), cutoffs, strict=True))
    in_each(connections, lambda connection: _list(connection, since, references, of_owners))
    groups: dict[GroupKey, int] = {}
    if flagged.any():
        groups = _groups(rows, flagged, devices, owners_of_sites, active)
    return ChangeJudgement(owners.tolist(), tested, discoveries, groups)


def write(connection: Connection[Any], judgement: int, changes: ChangeJudgement) -> None:
    """Write the counts of each owner."""
    rows = zip(changes.owners, changes.tested.tolist(), changes.discoveries, strict=True)
    connection.cursor().executemany(
        "INSERT INTO change_counts (judgement, owner, tested, changed, cutoff_q8)"
        " VALUES (%s, %s, %s, %s, %s)",
        [(judgement, owner, tested, d.count, d.cutoff_q8) for owner, tested, d in rows],
    )


def _count(connection: Connection[Any], since: datetime) -> bytes:
    with connection.cursor(binary=True) as cursor:
        return b"".join(part for (part,) in cursor.execute(COUNT, {"since": since}))


def _cutoff(discovery: Discovery) -> int:
    return 1 << 30 if discovery.cutoff_q8 is None else discovery.cutoff_q8


def _list(
    connection: Connection[Any],
    since: datetime,
    references: dict[Key, tuple[Array, Array]],
    cutoffs: dict[int, int],
) -> None:
    """List the devices whose bits reach their owner's cut-off."""
    least: dict[str, list[int]] = {"owners": [], "profiles": [], "scores": [], "rises": []}
    bits = {}
    for (owner, profile), pair in references.items():
        bits[owner, profile] = bits_of_buckets_q8(pair)
        if (cutoff := cutoffs.get(owner, 1 << 30)) < 1 << 30:
            first = [int(np.searchsorted(of, cutoff)) for of in bits[owner, profile]]
            for name, value in zip(least, (owner, profile, *first), strict=True):
                least[name].append(value)
    if not least["owners"]:
        return
    rows = connection.execute(LIST, {"since": since, "limit": MAX_CHANGED, **least}).fetchall()
    with (
        connection.cursor() as cursor,
        cursor.copy(
            "COPY changed (device, profile, firmware, site, evidence_q8, moved, owner) FROM STDIN"
        ) as copy,
    ):
        for device, owner, profile, firmware, site, score, rise, moved in rows:
            by_means, by_evidence = bits[owner, profile][0][score], bits[owner, profile][1][rise]
            what = EVIDENCE_ROSE if by_evidence > by_means else moved
            row = (device, profile, firmware, site, int(max(by_means, by_evidence)), what, owner)
            copy.write_row(row)


def _groups(
    rows: Array,
    flagged: Flags,
    devices: Array,
    owners: Mapping[int, int],
    active: frozenset[GroupKey],
) -> dict[GroupKey, int]:
    """Return the few groups that explain the changed devices, and how many of each changed.

    Half of each changed, or more.
    """
    columns = [rows[name].astype(np.int64) for name in ("profile", "firmware", "site")]
    table = np.stack([*columns, flagged.astype(np.int64), devices], axis=1)
    counts = EvidenceCounts(table, owners)
    hits, sizes = (
        counts.by_cohort(counts.evidence_q8 == 1),
        counts.by_cohort(counts.evidence_q8 >= 0),
    )

    def half_changed(_: Flags, size: Array, hit: Array) -> Flags:
        return np.asarray((size >= MIN_DEVICES) & (2 * hit >= size))

    named = cover(counts, hits, sizes, half_changed, active)
    changed = counts.by_group(hits)
    return {counts.groups[at]: int(changed[at]) for at in np.flatnonzero(named)}
