# SPDX-License-Identifier: Apache-2.0
"""Devices on for ten hours a day beside devices that are always on, for 30 days.

Both run the firmware's monitor and uplink and send through a real broker and worker to PostgreSQL.
The former boot anew each day, so that their epochs close only if epochs continue over boots.
"""

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from fleet.tests.fixtures.servers import fleet_command, private_servers, running_process
from results.result import Row, arguments, report
from tcuq_fleet.judge.ebh import cutoff_or_unreachable
from tcuq_fleet.judge.retention import Retention
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.judge.schedule import judge_now
from tcuq_fleet.servers import Broker, Postgres

ON_HOURS = {"on 10 h a day": 10, "always on": 24}
DAY_H, STEPS = 24, 360
EPOCH_STEPS = DAY_H * STEPS
NEVER = 2**32 - 1


class Fleets:
    """A worker and two simulated fleets, one per number of hours on, beside running servers."""

    def __init__(self, postgres: Postgres, broker: Broker, devices: int, days: int) -> None:
        self.database, self._folder = postgres.url, postgres.folder
        self._broker = f"mqtt://127.0.0.1:{broker.port}"
        self._devices, self._days = devices, days

    def run(self, hour_s: float) -> None:
        """Judge once per simulated day until the devices end."""
        # Off for 14 hours is not silent: an operator of such devices configures that.
        rules, retention = Rules(silent_after=1e6), Retention()
        ingest = fleet_command(
            "ingest",
            "--claim",
            "open",
            "--database",
            self.database,
            "--broker",
            self._broker,
            "--quota",
            "60000",
        )
        with running_process(ingest, self._folder / "ingest.log"), ExitStack() as stack:
            time.sleep(5)
            fleets = [
                stack.enter_context(running_process(self._simulate(name, hour_s)))
                for name in ON_HOURS
            ]
            while any(fleet.poll() is None for fleet in fleets):
                judge_now([self.database], rules, retention)
                time.sleep(DAY_H * hour_s)
        judge_now([self.database], rules, retention)

    def _simulate(self, name: str, hour_s: float) -> list[str]:
        return fleet_command(
            "simulate", "--broker", self._broker, "--devices", str(self._devices),
            "--on-hours", str(ON_HOURS[name]), "--hours", str(self._days * DAY_H),
            "--hour-s", str(hour_s), "--drain-s", "60", "--steps", str(STEPS), "--drift", "20%",
            "--seed", str(ON_HOURS[name]), "--truth", str(self.truth_path(name)), "--json",
        )  # fmt: skip

    def truth_path(self, name: str) -> Path:
        """Return the file that a simulated fleet writes in the end."""
        return self._folder / f"truth-{ON_HOURS[name]}.npz"


def outcome_of(fleets: Fleets, name: str) -> dict[str, Any]:
    """Compare what is stored of one fleet with its truth."""
    with np.load(fleets.truth_path(name)) as file:
        device, steps, drifts_from = (file[key] for key in ("device", "steps", "drifts_from"))
        boots = int(np.median(file["boot"])) + 1
    drifting = {int(d) for d, start in zip(device, drifts_from, strict=True) if start != NEVER}
    own = set(device.tolist())
    with psycopg.connect(fleets.database) as connection:
        state = connection.execute(
            "SELECT device, judged_q8, epoch, (SELECT count(*) FROM epochs"
            " WHERE epochs.device = devices.device) FROM devices"
        ).fetchall()
        cutoff = connection.execute(
            "SELECT cutoff_q8 FROM judgements ORDER BY judgement DESC LIMIT 1"
        ).fetchone()
    least = cutoff_or_unreachable(None if cutoff is None else cutoff[0])
    rows = {device % 2**64: rest for device, *rest in state if device % 2**64 in own}
    judged = {d for d, (q8, _, _) in rows.items() if q8 is not None}
    discovered = {d for d in judged if rows[d][0] >= least}
    closed = {d: int(s) // EPOCH_STEPS for d, s in zip(device.tolist(), steps, strict=True)}
    return {
        "devices": len(own),
        "judged": len(judged),
        "epochs_right": sum(rows[d][1] == closed[d] for d in rows),
        "history": sum(history for _, _, history in rows.values()),
        "history_full": sum(closed.values()),
        "drifting": len(drifting),
        "found": len(discovered & drifting),
        "false": len(discovered - drifting),
        "boots": boots,
    }


def rows_of(days: int, outcomes: dict[str, dict[str, Any]]) -> list[Row]:
    """Return the rows of both fleets."""
    rows = []
    for name, got in outcomes.items():
        over = f"{got['devices']:,} devices {name}, {days} days, {got['boots']} boots"
        right = got["judged"] == got["epochs_right"] == got["devices"]
        rows.append(
            Row(
                f"{over}: devices judged, devices whose epoch is their steps over the profile's"
                " epoch, closed epochs in the history",
                "all, all, stated",
                f"{got['judged']:,}, {got['epochs_right']:,},"
                f" {got['history']:,} of {got['history_full']:,}",
                right,
            )
        )
    shares = {name: got["found"] / got["drifting"] for name, got in outcomes.items()}
    short, always = shares["on 10 h a day"], shares["always on"]
    drifting = sum(got["drifting"] for got in outcomes.values())
    both = sum(got["found"] for got in outcomes.values()) / drifting
    error = (both * (1 - both) * 4 / drifting) ** 0.5  # of the difference of two equal fleets
    false = sum(got["false"] for got in outcomes.values())
    rows.append(
        Row(
            f"the same after {days} days: drifting devices found, on 10 h a day and always on, %;"
            " false discoveries of both",
            "the same within three standard errors",
            f"{100 * short:.0f} and {100 * always:.0f}; {false}",
            abs(short - always) <= 3 * error,
        )
    )
    return rows


def measured(devices: int, days: int, hour_s: float) -> list[Row]:
    """Return the rows of fleets of this size."""
    with private_servers() as (postgres, broker):
        fleets = Fleets(postgres, broker, devices, days)
        fleets.run(hour_s)
        return rows_of(days, {name: outcome_of(fleets, name) for name in ON_HOURS})


def main() -> None:
    """Measure and report; --short: five days of 60 devices each."""
    args = arguments()
    rows = measured(60, 5, 0.2) if args.short else measured(500, 30, 0.6)
    sys.exit(report("fleet_short_days", rows, ("psycopg", "paho-mqtt"), write=args.write))


if __name__ == "__main__":
    main()
