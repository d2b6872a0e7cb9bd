# SPDX-License-Identifier: Apache-2.0
"""Dead letters: samples of what was refused, within a budget of rows that all workers share.

Refusals beyond the budget are counted by the worker's metrics alone.
"""

import hashlib
import time
from collections.abc import Iterable, Sequence
from typing import Any, LiteralString

from psycopg import Cursor

from tcuq.telemetry import Reason

MAX_PER_BATCH = 100
MAX_PER_HOUR = 2_000
MAX_ROWS = 50_000
PAUSE_S = 60.0  # after the budget is used up
MAX_PAYLOAD_BYTES = 1024
MAX_TOPIC_CHARACTERS = 256

DeadLetter = tuple[Reason, str, bytes]  # topic and payload

# Sorted by digest, so that two workers that insert the same rows cannot deadlock.
INSERT: LiteralString = """
WITH budget AS MATERIALIZED (
    SELECT least(%(total)s - (SELECT count(*) FROM dead_letters),
        %(per_hour)s - (SELECT count(*) FROM dead_letters
            WHERE stored > now() - interval '1 hour')) AS rows
), inserted AS (
    INSERT INTO dead_letters (digest, reason, topic, payload)
    SELECT * FROM unnest(%(digests)s::bytea[], %(reasons)s::smallint[], %(topics)s::text[],
        %(payloads)s::bytea[]) AS letter (digest)
    ORDER BY digest LIMIT (SELECT greatest(rows, 0) FROM budget)
    ON CONFLICT DO NOTHING
)
SELECT rows FROM budget
"""


class DeadLetters:
    """Inserts dead letters until the budget is used up, then pauses."""

    def __init__(self) -> None:
        self._paused_until = 0.0

    def accepts(self, letters: Sequence[DeadLetter]) -> bool:
        """Return whether some of these may be inserted now."""
        return bool(letters) and time.monotonic() >= self._paused_until

    def insert(self, cursor: Cursor[Any], letters: Iterable[DeadLetter]) -> None:
        """Insert dead letters; a repeated one is one row."""
        letters = list(letters)
        if not self.accepts(letters):
            return
        rows = {row[0]: row for row in (_row(*letter) for letter in letters)}
        digests, reasons, topics, payloads = zip(*rows.values(), strict=True)
        budget = cursor.execute(
            INSERT,
            {
                "total": MAX_ROWS, "per_hour": MAX_PER_HOUR, "digests": list(digests),
                "reasons": list(reasons), "topics": list(topics), "payloads": list(payloads),
            },
        ).fetchone()  # fmt: skip
        if budget is not None and budget[0] <= len(rows):
            self._paused_until = time.monotonic() + PAUSE_S


def _row(reason: Reason, topic: str, payload: bytes) -> tuple[bytes, int, str, bytes]:
    topic = topic.replace("\x00", "")[:MAX_TOPIC_CHARACTERS]
    digest = hashlib.sha256(b"%d %s\n%s" % (reason, topic.encode(), payload)).digest()[:16]
    return digest, int(reason), topic, payload[:MAX_PAYLOAD_BYTES]
