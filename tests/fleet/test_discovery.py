# SPDX-License-Identifier: Apache-2.0
"""The measurement of false discovery, in its short form: what it simulates is what it says."""

import numpy as np

from tools.measurements.fleet_discovery import simulated, worst_row
from tools.measurements.fleet_evidence import SHOCKED, TABLES


def test_bets_at_rest_have_mean_at_most_one() -> None:
    """Over calm and shocked blocks, by the tables that the field draws from; and nearly one."""
    calm, shocked = np.exp2(TABLES / 256.0).mean(axis=1)
    assert shocked > 1 > calm
    mean = (1 - SHOCKED) * calm + SHOCKED * shocked
    assert 0.99 < mean <= 1


def test_few_discoveries_are_false_where_devices_alone_cry_wolf() -> None:
    """At 10,000 devices and two epochs; the worst law reaches the level and no more."""
    rows, field, evidence_q8 = simulated(10_000, 2)
    assert all(row.passed is not False for row in rows)
    assert len(evidence_q8) == len(field.drifts) == 10_000
    worst = worst_row(1_000_000, 5_000, 0.1)
    assert worst.passed
    assert float(worst.measured.split()[0]) > 0.08
