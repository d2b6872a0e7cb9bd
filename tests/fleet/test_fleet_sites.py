# SPDX-License-Identifier: Apache-2.0
"""A fleet of very many sites, in short: judged, shown and summed within its limits."""

import psycopg
import pytest

from tcuq.fleet.judge import pruning, retention
from tcuq.fleet.servers import Postgres
from tools.measurements.fleet_sites import measured


def test_many_sites_keep_judgement_page_and_history_small(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row of the measurement holds for 2,000 sites with ten devices each."""
    monkeypatch.setattr(pruning, "MAX_WRITTEN", 100)
    monkeypatch.setattr(retention, "MAX_COHORT_ROWS", retention.MAX_COHORT_ROWS)  # is restored
    with psycopg.connect(postgres.url, autocommit=True) as maintenance:
        maintenance.execute("DROP DATABASE IF EXISTS many WITH (FORCE)")
        maintenance.execute("CREATE DATABASE many")
    rows = measured(postgres.url.removesuffix("fleet") + "many", 20_000, 2000, rounds=1)
    assert [row.what for row in rows if row.passed is False] == []
    written = next(row.measured for row in rows if row.what.startswith("groups written"))
    assert int(written.split()[0].replace(",", "")) < 300
