# SPDX-License-Identifier: Apache-2.0
"""The short form of the measurement of drift that begins late in an epoch."""

from tcuq.fleet.servers import Postgres
from tools.measurements.fleet_late_drift import rows_of


def test_half_of_the_drift_is_found_within_eight_hours(postgres: Postgres) -> None:
    """Two fleets of 200 devices: half found in time, and false discoveries within the level."""
    rows = rows_of(postgres, 2, 360)
    assert [row.passed for row in rows] == [True, None, True]
