# SPDX-License-Identifier: Apache-2.0
"""The measurement beside ClickHouse compares equal things."""

from fleet.measurements.engines import measured


def test_postgresql_and_clickhouse_give_the_same_answers() -> None:
    """Every question, the state after newer and repeated records, and sums over kept records."""
    rows = list(measured(3_000, 500, 1_000, 1, "128MB"))
    assert [row.what for row in rows if row.passed is False] == []
    compared = {row.what.split()[1] for row in rows if row.passed}
    assert compared == {"answers", "state", "discoveries", "sums"}
