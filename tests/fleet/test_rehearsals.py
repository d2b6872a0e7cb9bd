# SPDX-License-Identifier: Apache-2.0
"""Failover and restore with devices sending, in short; the long forms are in tools/measurements."""

from collections.abc import Callable

import pytest

from tools.measurements import fleet_failover, fleet_restore

Rehearse = Callable[[int, int, float, int], dict[str, float]]


@pytest.mark.parametrize("rehearse", [fleet_failover.rehearse, fleet_restore.rehearse])
def test_counts_are_exact_after_the_database_was_lost(rehearse: Rehearse) -> None:
    """After a promotion and after a restore no device and no cohort differs from the truth."""
    outcome = rehearse(500, 8, 3.0, 1)
    assert (outcome["devices"], outcome["cohorts"], outcome["waiting"]) == (0, 0, 0)
    assert outcome["sending"] == 1
