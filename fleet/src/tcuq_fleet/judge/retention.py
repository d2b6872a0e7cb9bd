# SPDX-License-Identifier: Apache-2.0
"""Retention: delete rows past their age, and sum cohorts' old hours into days of their sites."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, LiteralString

from psycopg import Connection

COHORT_HOURS = 170  # hours of cohorts that are kept in full: the week that pages show
MAX_COHORT_ROWS = 5_000_000  # with more, fewer hours are; at least the last two
MIN_COHORT_HOURS = 2

HOURS: LiteralString = """
SELECT hour FROM (
    SELECT hour, sum(count(*)) OVER (ORDER BY hour DESC) AS rows FROM cohorts GROUP BY hour
) AS counted
WHERE hour < now() - %(hours)s * interval '1 hour'
    OR hour < now() - %(least)s * interval '1 hour' AND rows > %(rows)s
ORDER BY hour
"""
# One statement moves an hour, so that every record stays counted exactly once.
COMPACT: LiteralString = """
WITH moved AS (DELETE FROM cohorts WHERE hour = %s RETURNING *)
INSERT INTO site_days AS sum (day, site, records, steps, abstained, denied, exceeded, alarms)
SELECT (hour AT TIME ZONE 'UTC')::date AS day, site, sum(records), sum(steps), sum(abstained),
    sum(denied), sum(exceeded), sum(alarms)
FROM moved GROUP BY day, site ORDER BY day, site
ON CONFLICT (day, site) DO UPDATE SET
    records = sum.records + excluded.records, steps = sum.steps + excluded.steps,
    abstained = sum.abstained + excluded.abstained, denied = sum.denied + excluded.denied,
    exceeded = sum.exceeded + excluded.exceeded, alarms = sum.alarms + excluded.alarms
"""


@dataclass(frozen=True, slots=True)
class Retention:
    """Days after which judgements, closed alarms, epochs, cohorts and dead letters are deleted."""

    judgements: int = 30
    alarms: int = 365
    epochs: int = 365
    cohorts: int = 365
    dead_letters: int = 30

    def apply(self, connection: Connection[Any]) -> int:
        """Delete older rows; return their number. Sum cohorts' old hours into days.

        Whole weeks of epochs and of cohorts leave as partitions, which cohorts have left by then.
        """
        compact(connection)
        statements: tuple[tuple[LiteralString, int], ...] = (
            ("DELETE FROM judgements WHERE judged < now() - %s", self.judgements),
            ("DELETE FROM accuracy_hours WHERE hour < now() - %s", self.judgements),
            ("DELETE FROM alarms WHERE state = 'closed' AND changed < now() - %s", self.alarms),
            ("DELETE FROM hours WHERE hour < now() - %s", self.cohorts),
            ("DELETE FROM site_days WHERE day < now() - %s", self.cohorts),
            ("DELETE FROM dead_letters WHERE stored < now() - %s", self.dead_letters),
        )
        deleted = sum(
            connection.execute(statement, [timedelta(days=days)]).rowcount
            for statement, days in statements
        )
        ((dropped,),) = connection.execute(
            "SELECT maintain_partitions(%s, %s)",
            [timedelta(days=self.epochs), timedelta(hours=COHORT_HOURS, days=1)],
        ).fetchall()
        return deleted + int(dropped)


def compact(connection: Connection[Any]) -> int:
    """Move cohorts' old hours into days of their sites; return the number of hours."""
    values = {"hours": COHORT_HOURS, "least": MIN_COHORT_HOURS, "rows": MAX_COHORT_ROWS}
    hours = connection.execute(HOURS, values).fetchall()
    for (hour,) in hours:
        connection.execute(COMPACT, [hour])
    return len(hours)
