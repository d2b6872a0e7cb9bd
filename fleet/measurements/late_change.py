# SPDX-License-Identifier: Apache-2.0
"""Drift 20 hours into a device's eleventh epoch: how soon the verdict "changed" finds it.

Simulated devices run the firmware's code; their records go through the store and the judge, as in
fleet_late_drift. Beside it, in the same fleets: how soon the verdict "unlike calibration" does.
Devices here differ from calibration in nothing but drift, which suits that verdict best.
"""

from dataclasses import dataclass, field

import numpy as np

from fleet.measurements.drifting_fleets import (
    false_row,
    false_share,
    judged,
    measure_fleets,
    share_of,
    stored_hours,
)
from results.result import Row
from tcuq_fleet.servers import Postgres
from tcuq_fleet.simulate.devices import Plan

DEVICES, EPOCH = 400, 24
ONSET = 10 * EPOCH + 20
HOURS = ONSET + 24
AFTER = (2, 8, 24)
LEAST_RATIO = 0.8


@dataclass(slots=True)
class Shares:
    """By hour since drift began: the shares of drifting devices found; false shares of changed."""

    changed: list[float] = field(default_factory=list)
    different: list[float] = field(default_factory=list)
    false: list[float] = field(default_factory=list)


def shares_in(server: Postgres, plan: Plan) -> Shares:
    """Store a simulated fleet hour by hour; judge once an epoch, and hourly from the onset."""
    shares = Shares()
    for hour, store, drifting in stored_hours(server, plan):
        if hour >= ONSET or hour % EPOCH == 1:
            different = judged(store)
            listed = store.connection.execute("SELECT device FROM changed").fetchall()
            changed = {device % 2**64 for (device,) in listed}
            if hour < ONSET:
                shares.false.append(float(bool(changed)))
                continue
            shares.changed.append(share_of(changed, drifting))
            shares.different.append(share_of(different, drifting))
            shares.false.append(false_share(changed, drifting))
    return shares


def rows_of(server: Postgres, fleets: int, steps: int) -> list[Row]:
    """Return the rows of fleets whose devices make so many steps per hour."""
    every = []
    for seed in range(fleets):
        plan = Plan(
            devices=DEVICES, hours=HOURS, drift=0.1, drift_from=ONSET, steps=steps, seed=seed
        )  # fmt: skip
        every.append(shares_in(server, plan))
        print(f"fleet {seed + 1} of {fleets}", flush=True)
    over = (
        f"{fleets} fleets of {DEVICES} devices, a tenth drifts from 20 h into the eleventh epoch,"
        f" {steps} steps/h"
    )
    changed = [float(np.mean([one.changed[hour - 1] for one in every])) for hour in AFTER]
    before = [float(np.mean([one.different[hour - 1] for one in every])) for hour in AFTER]
    listed = " ".join(f"{100 * share:.0f}" for share in changed)
    beside = " ".join(f"{100 * share:.0f}" for share in before)
    enough = all(changed[at] >= LEAST_RATIO * before[at] for at in (0, 2))
    return [
        Row(
            f"{over}: share changed after 2, 8 and 24 h, % (unlike calibration)",
            f"after 2 and 24 h ≥ {LEAST_RATIO} of the latter",
            f"{listed} ({beside})",
            enough,
        ),
        false_row(f"{over}: false share among the changed", [one.false for one in every]),
    ]


if __name__ == "__main__":
    measure_fleets("fleet_late_change", rows_of, short=1, long=10)
