# SPDX-License-Identifier: Apache-2.0
"""A fleet made by SQL: devices, hours, epochs, a judgement and alarms, without a single record.

Firmware 1.8.0 drifts, site tromso in part, some devices anywhere; the rest shows chance alone.
"""

from typing import Any, LiteralString

import numpy as np
import psycopg

from tcuq.fleet.judge.evidence_counts import SILENT, YOUNG, EvidenceCounts
from tcuq.fleet.judge.groups import GroupJudgements, judge_groups
from tcuq.fleet.judge.persistence import write_profiles
from tcuq.fleet.store.migrate import migrate

LEVEL, LOOSEST, SHARE = 0.05, 0.5, 0.1
HOURS = 168
SITES = (
    "aachen", "bergen", "berlin", "bilbao", "bordeaux", "brno", "cork", "delft", "dresden", "essen",
    "evora", "gdansk", "genoa", "ghent", "graz", "halle", "jena", "kassel", "kiel", "krakow",
    "leeds", "lille", "linz", "lund", "lyon", "malmo", "nantes", "oporto", "ostrava", "oulu",
    "parma", "pilsen", "riga", "seville", "tampere", "tartu", "tromso", "turin", "utrecht", "vigo",
)  # fmt: skip
TROMSO = SITES.index("tromso") + 1

# Of a device that is `age` days into its boot and drifts since `late` days.
HISTOGRAM: LiteralString = """
CREATE FUNCTION pg_temp.histogram(age numeric, late numeric) RETURNS bytea IMMUTABLE LANGUAGE sql
AS $$
    SELECT string_agg(set_byte(set_byte('\\x0000'::bytea, 0, n & 255), 1, n >> 8), '' ORDER BY bin)
    FROM generate_series(0, 15) AS bin, LATERAL (SELECT least(65535, (1000 * (
        age * exp(-bin / 2.1) + late * late * 0.09 * exp(-((bin - 9) ^ 2) / 9.0)
    ))::integer) AS n) AS of_bin
$$
"""
# A device's number is a hash; one in sixteen runs 1.8.0, of which a fifth drifts.
DEVICES: LiteralString = """
WITH shape AS MATERIALIZED (
    SELECT pg_temp.histogram(28.4, 0) AS calm, pg_temp.histogram(28.4, 13.4) AS odd
)
INSERT INTO devices (device, boot, sequence, steps, abstained, denied, exceeded, steps_added,
    abstained_added, denied_added, exceeded_added, last_seen, profile, firmware, site, alarms,
    alarms_added, threshold, epoch, closed_epoch, evidence, closed_evidence, cause, mixed, closing,
    histogram_shift, histogram)
SELECT device, 3, 680, 28.4 * 86400, 28.4 * 2900 + late * late * 160, 28.4 * 130 + late * late * 9,
    150000, 3600, 125, 5, 210,
    now() - CASE WHEN chance < 0.006 THEN interval '3 days' ELSE chance * interval '1 hour' END,
    (ARRAY[1067064327, -1205984556, 206956970])[1 + i %% 3],
    CASE i %% 16 WHEN 0 THEN 17301504 WHEN 1 THEN 33554432 WHEN 2 THEN 17170434
        ELSE 17235969 - i %% 2 END,
    site, late / 3, 0, 13100 + (chance * 900)::integer,
    130, CASE WHEN i %% 97 <> 0 THEN 129 END, 2 * bits, CASE WHEN i %% 97 <> 0 THEN 2 * bits END,
    CASE WHEN late > 0 THEN (ARRAY[1, 2, 37])[1 + i %% 3] ELSE 0 END, i %% 97 = 0, false,
    6, CASE WHEN late > 0 THEN odd ELSE calm END
FROM (
    SELECT i, device, chance, late, site,
        CASE WHEN late > 0 THEN 12 + 44 * another ELSE -3 - 1.2 * ln(1 - another) END AS bits
    FROM (
        SELECT i, ('x' || substr(md5(i::text), 1, 16))::bit(64)::bigint AS device,
            random() AS chance, random() AS another,
            CASE WHEN i %% 16 = 0 AND random() < 0.22 OR site = %(tromso)s
                AND random() < 0.04 OR random() < 0.002 THEN 13.4 ELSE 0 END AS late, site
        FROM generate_series(1, %(devices)s) AS i, LATERAL (
            SELECT CASE WHEN %(sites)s <= 40 THEN 1 + (i / 48) %% %(sites)s
                ELSE 1 + abs(hashint4(i)::bigint) %% %(sites)s END AS site
        ) AS place
    ) AS drawn
) AS made, shape
"""
COHORTS: LiteralString = """
INSERT INTO cohorts (profile, firmware, site, hour, records, steps, abstained, denied, exceeded,
    alarms)
SELECT profile, firmware, site, hour, n, n * 3600, (n * 3600 * asked)::bigint,
    (n * 3600 * asked * 0.06)::bigint, (n * 3600 * 0.058)::bigint,
    CASE WHEN firmware = 17301504 THEN n * late / 40 ELSE n / 900 END
FROM (
    SELECT profile, firmware, site, hour, late,
        (count * (CASE WHEN h = 0 THEN extract(minute FROM now()) / 60 ELSE 0.97 + 0.03 * random()
            END))::bigint AS n,
        0.034 + 0.006 * sin(extract(hour FROM hour) / 3.8) + 0.003 * random()
            + CASE WHEN firmware = 17301504 THEN 0.0016 * late ELSE 0 END AS asked
    FROM (
        SELECT profile, firmware, site, count(*) AS count FROM devices
        GROUP BY profile, firmware, site
    ) AS cohort, generate_series(0, %(hours)s - 1) AS h,
    LATERAL (SELECT date_trunc('hour', now()) - h * interval '1 hour' AS hour,
        greatest(0, 60 - h) AS late) AS at
) AS made
"""
TOTALS: LiteralString = """
INSERT INTO hours SELECT hour, coalesce(owner, 0), profile, firmware, sum(records), sum(steps),
    sum(abstained), sum(denied), sum(exceeded), sum(alarms)
FROM cohorts JOIN sites USING (site) GROUP BY 1, 2, 3, 4
"""
# One epoch of everybody, and a past of some, who reboot once in it.
EPOCHS: LiteralString = """
WITH shape AS MATERIALIZED (
    SELECT pg_temp.histogram(28, 0) AS calm, pg_temp.histogram(28, 13) AS odd
)
INSERT INTO epochs (device, boot, steps, abstained, denied, exceeded, stored, alarms, epoch,
    evidence, histogram_shift, histogram)
SELECT device, 3, 28 * 86400, 28 * 2900 + late * late * 160, 28 * 130 + late * late * 9, 148000,
    now() - interval '9 hours', late / 3, 129, closed_evidence, 6,
    CASE WHEN late > 0 THEN odd ELSE calm END
FROM devices, shape, LATERAL (
    SELECT CASE WHEN closed_evidence > 20 THEN 13 ELSE 0 END AS late
) AS how
WHERE closed_epoch IS NOT NULL
"""
PAST: LiteralString = """
WITH days AS MATERIALIZED (
    SELECT day, age, odd, late, pg_temp.histogram(age, late) AS histogram
    FROM generate_series(1, 44) AS day, (VALUES (false), (true)) AS kind (odd), LATERAL (
        SELECT CASE WHEN day < 18 THEN 9 + day ELSE day - 17 END AS age,
            CASE WHEN odd THEN greatest(0, day - 32) ELSE 0 END AS late
    ) AS counted
)
INSERT INTO epochs (device, boot, steps, abstained, denied, exceeded, stored, alarms, epoch,
    evidence, histogram_shift, histogram)
SELECT device, CASE WHEN day < 18 THEN 2 ELSE 3 END, age * 86400,
    age * 2900 + late * late * 160, age * 130 + late * late * 9, age * 5000,
    now() - interval '9 hours' - (45 - day) * interval '1 day', late / 3, 84 + day,
    CASE WHEN late > 0 THEN closed_evidence * late / 13
        ELSE (2 * (-3 - 1.4 * ln(1 - random())))::integer END, 6, days.histogram
FROM devices JOIN days ON odd = (closed_evidence > 20)
WHERE closed_epoch IS NOT NULL AND abs(device) %% 2000 < %(few)s
"""
COUNTED: LiteralString = """
SELECT profile, firmware, site, CASE WHEN last_seen < now() - interval '1 day' THEN %(silent)s
    WHEN judged_q8 IS NULL THEN %(young)s ELSE greatest(judged_q8, 0) END AS evidence,
    count(*) FROM devices GROUP BY 1, 2, 3, 4
"""
SUSPECTS: LiteralString = """
INSERT INTO suspects SELECT %(judgement)s, device, profile, firmware, site, judged_q8
FROM devices WHERE last_seen >= now() - interval '1 day' AND judged_q8 >= %(cutoff)s
"""
ALARMS: LiteralString = """
INSERT INTO alarms (kind, state, device, opened, changed, raised_epochs, evidence, cause)
SELECT 'device', CASE WHEN evidence_q8 > 11000 THEN 'escalated' ELSE 'open' END::alarm_state,
    device, now() - random() * interval '9 days', now(), 1 + (random() * 6)::integer,
    evidence_q8 / 256.0, cause
FROM suspects JOIN devices USING (device) WHERE evidence_q8 >= %(cutoff)s;
"""
SILENCE: LiteralString = """
INSERT INTO alarms (kind, device, opened, evidence)
SELECT 'silent', device, last_seen + interval '1 day', 48 FROM devices
WHERE last_seen < now() - interval '1 day'
"""
CLOSED: LiteralString = """
INSERT INTO alarms (kind, state, device, opened, evidence)
SELECT 'device', 'closed', device, now() - interval '40 days', 14 FROM devices
ORDER BY device LIMIT 100000
"""


def seed(
    database: str,
    devices: int,
    *,
    judged: bool = True,
    sites: int = len(SITES),
    hours: int = HOURS,
) -> None:
    """Fill a fresh database; the same fleet each time. Sites beyond the named have numbers."""
    with psycopg.connect(database, autocommit=True) as connection:
        migrate(connection)
        connection.execute("SELECT setseed(0.5)")
        connection.execute(HISTOGRAM)
        names = [*SITES, *(f"site-{number}" for number in range(len(SITES) + 1, sites + 1))]
        connection.execute("INSERT INTO sites (name) SELECT unnest(%s::text[])", [names])
        values = {"devices": devices, "tromso": TROMSO, "sites": sites}
        connection.execute(DEVICES, values)
        connection.execute(COHORTS, {"hours": hours})
        connection.execute(TOTALS)
        connection.execute(EPOCHS)
        connection.execute(PAST, {"few": max(1, 2_000_000 // devices)})
        if judged:
            _judge(connection, devices)
        connection.execute("VACUUM ANALYZE")


def _judge(connection: "psycopg.Connection[Any]", devices: int) -> None:
    counted = connection.execute(COUNTED, {"silent": SILENT, "young": YOUNG}).fetchall()
    tally = EvidenceCounts(np.array(counted, np.int64))
    discovery, loosest = tally.discovery(LEVEL), tally.discovery(LOOSEST)
    silent = int(tally.devices[tally.evidence_q8 == SILENT].sum())
    for back in range(29, -1, -1):
        count = (
            discovery.count * max(0, 12 - back) // 12 + (back * 37) % 11
            if back
            else discovery.count
        )
        row = connection.execute(
            "INSERT INTO judgements (judged, level, devices, silent, judgeable, discovered,"
            " cutoff_q8) VALUES (now() - interval '8 hours' - %s * interval '1 day', %s, %s, %s,"
            " %s, %s, %s) RETURNING judgement",
            [back, LEVEL, devices, silent, tally.judgeable, count, discovery.cutoff_q8],
        ).fetchone()
    assert row is not None  # noqa: S101 - a row was returned
    judgement = int(row[0])
    _put_evidence(connection, judgement, tally)
    write_profiles(connection, tally)
    _put_groups(connection, judgement, judge_groups(tally, LEVEL, SHARE))
    connection.execute(SUSPECTS, {"judgement": judgement, "cutoff": loosest.cutoff_q8 or 32767})
    connection.execute(ALARMS, {"cutoff": discovery.cutoff_q8 or 32767})
    connection.execute(SILENCE)
    connection.execute(CLOSED)


def _put_evidence(
    connection: "psycopg.Connection[Any]", judgement: int, tally: EvidenceCounts
) -> None:
    above = tally.evidence_q8 > 0
    values, where = np.unique(tally.evidence_q8[above], return_inverse=True)
    counts = np.bincount(where.reshape(-1), tally.devices[above]).astype(int)
    with connection.cursor().copy("COPY evidence FROM STDIN") as copy:
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            copy.write_row((judgement, value, count))


def _put_groups(
    connection: "psycopg.Connection[Any]", judgement: int, groups: GroupJudgements
) -> None:
    columns = (
        groups.devices, groups.silent, groups.judgeable, groups.discovered, groups.bits,
        groups.drifted, groups.named,
    )  # fmt: skip
    rows = list(zip(groups.keys, *(column.tolist() for column in columns), strict=True))
    with connection.cursor().copy(
        "COPY groups (judgement, profile, firmware, site, devices, silent, judgeable, discovered,"
        " evidence, drifted, named) FROM STDIN"
    ) as copy:
        for name, *figures in rows:
            copy.write_row((judgement, *name, *figures))
    for name, *figures in rows:
        if figures[-1]:
            connection.execute(
                "INSERT INTO alarms"
                " (kind, state, profile, firmware, site, opened, raised_epochs, evidence)"
                " VALUES ('group', 'escalated', %s, %s, %s, now() - interval '6 days', 6, %s)",
                [*name, figures[4]],
            )
