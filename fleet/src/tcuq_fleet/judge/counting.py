# SPDX-License-Identifier: Apache-2.0
"""Counting: one scan of the devices gives the evidence counts of a judgement."""

from datetime import datetime
from typing import Any, LiteralString

import numpy as np
from psycopg import Connection

from tcuq_fleet.judge.evidence_counts import SILENT, YOUNG, EvidenceCounts

# Retired devices are not counted. Grouping by columns alone is faster than by a CASE. The rows are
# concatenated, in parts below PostgreSQL's limit of 1 GB, because reading them one by one is slow.
COUNT: LiteralString = """
SELECT string_agg(int4send(profile) || int4send(firmware) || int4send(site)
    || int4send(CASE WHEN judged_q8 IS NULL THEN %(young)s ELSE greatest(judged_q8, 0) END::integer)
    || int4send((devices - silent)::integer) || int4send((silent - gone)::integer)
    || int4send(gone::integer), ''::bytea)
FROM (
    SELECT profile, firmware, site, judged_q8, count(*) AS devices,
        count(*) FILTER (WHERE last_seen < %(since)s) AS silent,
        count(*) FILTER (WHERE last_seen < %(gone_since)s) AS gone
    FROM devices WHERE NOT EXISTS (
        SELECT FROM registry WHERE registry.device = devices.device AND state = 'retired')
    GROUP BY profile, firmware, site, judged_q8
) AS counted
GROUP BY site & 15
"""
_KEYS = ("profile", "firmware", "site", "evidence_q8")
_ROW = np.dtype([(name, ">i4") for name in (*_KEYS, "reporting", "silent", "gone")])


def count_evidence(
    connection: Connection[Any], since: datetime, gone_since: datetime
) -> tuple[EvidenceCounts, int]:
    """Count the devices by evidence, and how many of the fleet are gone.

    A device that was last seen before `since` is silent, before `gone_since` gone.
    """
    values = {"since": since, "gone_since": gone_since, "young": YOUNG}
    with connection.cursor(binary=True) as cursor:
        parts = cursor.execute(COUNT, values).fetchall()
    rows = np.frombuffer(b"".join(part for (part,) in parts), _ROW)
    keys = np.stack([rows[name].astype(np.int64) for name in _KEYS], axis=1)
    reporting = np.column_stack([keys, rows["reporting"]])
    silent = np.column_stack([keys, rows["silent"]])
    silent[:, 3] = SILENT
    present = np.concatenate([reporting[reporting[:, 4] > 0], silent[silent[:, 4] > 0]])
    return EvidenceCounts(present), int(rows["gone"].sum())
