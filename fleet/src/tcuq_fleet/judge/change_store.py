# SPDX-License-Identifier: Apache-2.0
"""Change store: fold newly closed epochs into devices' pasts, score them, and keep calm scores.

A new epoch of a device makes its previous one past, and the previous one's scores reference, unless
the device is held: one with an active alarm of a change keeps the past that it is compared with,
and no score of its becomes reference.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, LiteralString

import numpy as np
from psycopg import Connection

from tcuq_fleet.judge.change import (
    BUCKETS,
    MIN_PAST,
    NAMES,
    Array,
)
from tcuq_fleet.judge.change_state import (
    CLOSED,
    PEER,
    PEERS,
    STATE,
    Key,
    calm_rows,
    folded,
    scored,
)
from tcuq_fleet.judge.databases import in_each
from tcuq_fleet.judge.evidence_counts import GroupKey

PARTS = 16  # of the fleet: one value of PostgreSQL has at most 1 GB
WEEKS = 8  # of scores that are reference

# Devices whose newest closed epoch is not in `changes` yet, with their row there if they have one.
_CLOSED: LiteralString = """
WITH held AS MATERIALIZED (
    SELECT device, NULL::integer AS profile, NULL::integer AS firmware, NULL::integer AS site,
        NULL::integer AS owner
    FROM alarms WHERE kind = 'changed' AND device IS NOT NULL AND state <> 'closed'
    UNION ALL
    SELECT NULL, * FROM unnest(%(profiles)s::integer[], %(firmwares)s::integer[],
        %(sites)s::integer[], %(owners)s::integer[])
)
SELECT string_agg(int8send(d.device) || int4send(coalesce(sites.owner, 0)) || int4send(d.profile)
    || int4send(d.closed_epoch) || int2send(coalesce(c.past_epochs, 0::smallint))
    || <past> || <last> || int2send(coalesce(c.score, -1::smallint)) || int2send(0::smallint)
    || <new> || int2send((c.device IS NOT NULL)::integer::smallint)
    || int2send((EXISTS (SELECT FROM held WHERE held.device = d.device)
        OR EXISTS (SELECT FROM held WHERE held.device IS NULL
            AND held.owner = coalesce(sites.owner, 0)
            AND coalesce(held.profile, d.profile) = d.profile
            AND coalesce(held.firmware, d.firmware) = d.firmware
            AND coalesce(held.site, d.site) = d.site))::integer::smallint), ''::bytea)
FROM devices AS d LEFT JOIN changes AS c ON c.device = d.device AND c.profile = d.profile
    LEFT JOIN sites ON sites.site = d.site
WHERE d.device & %(parts)s - 1 = %(part)s AND d.closed_epoch IS NOT NULL
    AND d.expected_error IS NOT NULL AND d.closed_epoch IS DISTINCT FROM c.epoch
"""
CLOSED_EPOCHS: LiteralString = (
    _CLOSED.replace(
        "<past>",
        " || ".join(f"float4send(coalesce(c.past_{name}, 0::real))" for name in NAMES),
    )
    .replace(
        "<last>",
        " || ".join(f"int2send(coalesce(c.last_{name}, 0::smallint))" for name in NAMES),
    )
    .replace(
        "<new>",
        " || ".join(f"int2send(d.{name})" for name in NAMES[:-1])
        + " || int2send(greatest(d.closed_evidence, 0)::smallint)",
    )
)
_COLUMNS = (
    "owner", "profile", "epoch", "past_epochs", *(f"past_{name}" for name in NAMES),
    *(f"last_{name}" for name in NAMES), "score", "moved",
)  # fmt: skip
_MERGE: LiteralString = """
INSERT INTO changes SELECT * FROM changes_stage ORDER BY device
ON CONFLICT (device) DO UPDATE SET <updates>
"""
MERGE: LiteralString = _MERGE.replace(
    "<updates>", ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)
)
# A sample of peers by a hash of the device, about as many of each owner and profile.
_PEERS: LiteralString = """
WITH sizes AS MATERIALIZED (
    SELECT owner, profile, greatest(1, count(*) / %(peers)s) AS every
    FROM changes WHERE past_epochs >= %(least)s GROUP BY owner, profile
)
SELECT string_agg(int8send(device) || int4send(owner) || int4send(profile)
    || int2send(past_epochs) || <past> || <last>, ''::bytea)
FROM changes JOIN sizes USING (owner, profile)
WHERE past_epochs >= %(least)s AND (hashint8(device)::bigint & 2147483647) %% every = 0
"""
PEERS_OF: LiteralString = _PEERS.replace(
    "<past>", " || ".join(f"float4send(past_{name})" for name in NAMES)
).replace("<last>", " || ".join(f"int2send(last_{name})" for name in NAMES))
ADD_REFERENCE: LiteralString = """
INSERT INTO change_reference AS sum (owner, profile, week, statistic, bucket, scores)
SELECT owner, profile, date_trunc('week', now())::date, statistic, bucket, scores
FROM unnest(%s::integer[], %s::integer[], %s::smallint[], %s::smallint[], %s::bigint[])
    AS new (owner, profile, statistic, bucket, scores)
ON CONFLICT (owner, profile, week, statistic, bucket)
    DO UPDATE SET scores = sum.scores + excluded.scores
"""


def update(connections: Sequence[Connection[Any]], active: Collection[GroupKey] = ()) -> None:
    """Bring `changes` and the reference up to the devices' newest closed epochs.

    `active` are the groups with an active alarm of a change. The peers are those of all databases,
    and the first one keeps the reference.
    """
    groups = dict(zip(("profiles", "firmwares", "sites", "owners"), _columns(active), strict=True))
    peers = PEERS // len(connections)
    read = in_each(connections, lambda connection: _read(connection, groups, peers))
    first = connections[0]
    first.execute(
        "DELETE FROM change_reference WHERE week < now() - %s * interval '1 week'", [WEEKS]
    )
    closed = np.concatenate([rows for rows, _ in read])
    if not closed.size:
        return
    _add_reference(first, closed)
    states = scored(folded(closed), np.concatenate([sample for _, sample in read]))
    ends = np.cumsum([len(rows) for rows, _ in read])
    parts = dict(zip(map(id, connections), np.split(states, ends[:-1]), strict=True))
    in_each(connections, lambda connection: _write(connection, parts[id(connection)]))


def _columns(groups: Collection[GroupKey]) -> list[list[int | None]]:
    return [[group[at] for group in groups] for at in range(4)]


def _read(
    connection: Connection[Any], groups: Mapping[str, object], peers: int
) -> tuple[Array, Array]:
    """Return the devices with a newly closed epoch, and a sample of peers."""
    parts = []
    with connection.cursor(binary=True) as cursor:
        for part in range(PARTS):
            cursor.execute(CLOSED_EPOCHS, {"parts": PARTS, "part": part, **groups})
            parts += [data for (data,) in cursor.fetchall() if data]
        cursor.execute(PEERS_OF, {"peers": peers, "least": MIN_PAST})
        data = (cursor.fetchone() or (None,))[0]
    return np.frombuffer(b"".join(parts), CLOSED), np.frombuffer(data or b"", PEER)


def _write(connection: Connection[Any], states: Array) -> None:
    if not states.size:
        return
    with (
        connection.cursor() as cursor,
        cursor.copy("COPY changes_stage FROM STDIN (FORMAT BINARY)") as copy,
    ):
        copy.write(_to_copy_binary(states))
    connection.execute(MERGE)
    connection.execute("DELETE FROM changes_stage")


def _add_reference(connection: Connection[Any], closed: Array) -> None:
    """Count the scores of calm devices' previous epochs."""
    calm, *buckets = calm_rows(closed)
    for statistic, bucket in enumerate(buckets):
        columns = [calm["owner"], calm["profile"], np.full(len(calm), statistic), bucket]
        rows, scores = np.unique(
            np.stack(columns, axis=1).astype(np.int64), axis=0, return_counts=True
        )
        connection.execute(ADD_REFERENCE, [*rows.T.tolist(), scores.tolist()])


def references(connection: Connection[Any]) -> dict[Key, tuple[Array, Array]]:
    """Return the calm scores per bucket of both statistics, of each owner and profile."""
    rows = connection.execute(
        "SELECT owner, profile, statistic, bucket, sum(scores)::bigint FROM change_reference"
        " GROUP BY owner, profile, statistic, bucket"
    )
    counts: dict[Key, tuple[Array, Array]] = {}
    for owner, profile, statistic, bucket, scores in rows:
        empty = (np.zeros(BUCKETS, np.int64), np.zeros(BUCKETS, np.int64))
        counts.setdefault((owner, profile), empty)[statistic][bucket] = scores
    return counts


def _to_copy_binary(states: Array) -> bytes:
    """Encode states for PostgreSQL's COPY in binary format: each value after its length."""
    names = [name for name in STATE.names or () if name not in ("past", "last")]
    columns: list[tuple[str, Array]] = [(STATE[name].str, states[name]) for name in names[:5]]
    columns += [(">f4", states["past"][:, at]) for at in range(len(NAMES))]
    columns += [(">i2", states["last"][:, at]) for at in range(len(NAMES))]
    columns += [(STATE[name].str, states[name]) for name in names[5:]]
    fields = [("columns", ">i2")]
    for at, (kind, _) in enumerate(columns):
        fields += [(f"bytes{at}", ">i4"), (f"value{at}", kind)]
    rows = np.empty(len(states), np.dtype(fields))
    rows["columns"] = len(columns)
    for at, (kind, column) in enumerate(columns):
        rows[f"bytes{at}"], rows[f"value{at}"] = np.dtype(kind).itemsize, column
    return b"PGCOPY\n\xff\r\n\x00" + bytes(8) + rows.tobytes() + b"\xff\xff"
