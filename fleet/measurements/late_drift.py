# SPDX-License-Identifier: Apache-2.0
"""Drift that begins 20 hours into an epoch: the hours until hourly judgements find half of it.

Simulated devices run the firmware's code; each hour their records go through the store, and the
judge judges. Beside it: what a judge that waits for closed epochs would find. False discoveries of
a million devices are in fleet_discovery.
"""

import statistics
from dataclasses import dataclass

import numpy as np

from fleet.measurements.drifting_fleets import (
    LEVEL,
    false_row,
    false_share,
    judged,
    measure_fleets,
    share_of,
    stored_hours,
)
from results.result import Row
from tcuq_fleet.judge.ebh import cutoff_or_unreachable, discover
from tcuq_fleet.servers import Postgres
from tcuq_fleet.simulate.devices import Plan
from tcuq_fleet.store.store import Store

ONSET, HOURS = 44, 72  # the second epoch runs from hour 24 to 48
MUST_H = 8


@dataclass(frozen=True, slots=True)
class HourlyShares:
    """By hour since drift began: the share of drifting devices found, and of false discoveries."""

    judged: list[float]
    closed_alone: list[float]
    false: list[float]


def shares_found(server: Postgres, plan: Plan) -> HourlyShares:
    """Store and judge a simulated fleet hour by hour, in a database of its own."""
    shares = HourlyShares([], [], [])
    for hour, store, drifting in stored_hours(server, plan):
        if hour >= ONSET:
            discovered = judged(store)
            shares.judged.append(share_of(discovered, drifting))
            shares.false.append(false_share(discovered, drifting))
            shares.closed_alone.append(share_of(closed_alone(store), drifting))
    return shares


def closed_alone(store: Store) -> set[int]:
    """Return the devices that e-BH over closed epochs alone discovers."""
    rows = store.connection.execute("SELECT device, closed_evidence FROM devices").fetchall()
    evidence_q8 = 128 * np.array([closed or 0 for _, closed in rows])
    discovery = discover(evidence_q8, np.ones(len(rows), int), len(rows), LEVEL)
    least = cutoff_or_unreachable(discovery.cutoff_q8)
    return {row[0] % 2**64 for row, q8 in zip(rows, evidence_q8, strict=True) if q8 >= least}


def hours_to_half(fleets: list[list[float]]) -> int | None:
    """Return the hours after which half of all drifting devices are found, or None."""
    shares = np.mean(fleets, axis=0)
    return int(np.argmax(shares >= 0.5)) + 1 if (shares >= 0.5).any() else None


def rows_of(server: Postgres, fleets: int, steps: int) -> list[Row]:
    """Return the rows of fleets of 200 devices that make so many steps per hour."""
    shares = []
    for seed in range(fleets):
        plan = Plan(
            devices=200, hours=HOURS, drift=0.1, drift_from=ONSET, steps=steps, seed=seed
        )  # fmt: skip
        shares.append(shares_found(server, plan))
        print(f"fleet {seed + 1} of {fleets}", flush=True)
    half = hours_to_half([fleet.judged for fleet in shares])
    late = hours_to_half([fleet.closed_alone for fleet in shares])
    over = (
        f"{fleets} fleets of 200 devices, a tenth drifts from 20 h into an epoch, {steps} steps/h"
    )
    return [
        Row(
            f"{over}: hours until half are found (by closed epochs alone)",
            f"≤ {MUST_H}",
            f"{half} ({late})",
            half is not None and half <= MUST_H,
        ),
        Row(
            f"{over}: share found after 2, 4, 8 and 24 h, %",
            "stated",
            " ".join(
                f"{100 * statistics.mean(fleet.judged[hour - 1] for fleet in shares):.0f}"
                for hour in (2, 4, 8, 24)
            ),
            None,
        ),
        false_row(f"{over}: false-discovery proportion", [fleet.false for fleet in shares]),
    ]


if __name__ == "__main__":
    measure_fleets("fleet_late_drift", rows_of, short=2, long=20)
