# SPDX-License-Identifier: Apache-2.0
"""The short form of the measurement of false discoveries."""

from tools.measurements.fleet_discovery import simulated, worst_row
from tools.measurements.fleet_evidence import SHOCKED, TABLES


def test_bets_without_drift_have_mean_at_most_one() -> None:
    """The mean over ordinary and shocked blocks of the tables is at most one, and nearly one."""
    ordinary, shocked = TABLES.mean(axis=1)
    assert shocked > 1 > ordinary
    mean = (1 - SHOCKED) * ordinary + SHOCKED * shocked
    assert 0.99 < mean <= 1


def test_false_discoveries_stay_below_the_level() -> None:
    """At 10,000 devices and two epochs the rate holds; the worst distribution nearly reaches it."""
    rows, simulation, closed, running = simulated(10_000, 2)
    assert all(row.passed is not False for row in rows)
    assert len(closed) == len(running) == len(simulation.drifts) == 10_000
    worst = worst_row(1_000_000, 5_000, 0.1)
    assert worst.passed
    assert float(worst.measured.split()[0]) > 0.08
