# SPDX-License-Identifier: Apache-2.0
"""A rehearsal: the database is lost while devices send, and every count must end exact."""

import json
import sys
from collections.abc import Callable

from fleet.measurements.faults import Scene, differences
from results.result import Row, arguments, report

Outcome = dict[str, float]
Rehearse = Callable[[int, int, float, int], Outcome]  # devices, hours, seconds per hour, losses


def outcome_of(scene: Scene, database: str, seconds: list[float]) -> Outcome:
    """Wait for the devices; return what differs from their truth, and the longest loss."""
    sending = scene.fleet.poll() is None
    out, _ = scene.fleet.communicate()
    return differences(database, scene.truth) | {
        "sent": int(json.loads(out)["sent"]),
        "sending": int(sending),
        "longest_s": max(seconds),
    }


def measure(name: str, rehearse: Rehearse, loss: str, longest: str) -> None:
    """Rehearse and report; --short: fewer devices, one loss."""
    args = arguments()
    devices, hours, hour_s, losses = (2_000, 8, 3.0, 1) if args.short else (20_000, 40, 5.0, 3)
    outcome = rehearse(devices, hours, hour_s, losses)
    exact = outcome["devices"] == outcome["cohorts"] == outcome["waiting"] == 0
    rows = [
        Row(
            f"{devices:,} devices sending, {loss} {losses} times:"
            " devices and cohorts that differ from the truth",
            "0 and 0",
            f"{outcome['devices']} and {outcome['cohorts']} of {outcome['cohorts_in_all']}"
            f" ({outcome['steps']:,} steps, {outcome['sent']:,} records sent,"
            f" {outcome['restarts']:,} restarts)",
            exact and outcome["sending"] == 1,
        ),
        Row(f"{longest}, longest", "stated", f"{outcome['longest_s']:.1f}", None),
    ]
    sys.exit(report(name, rows, ("psycopg", "paho-mqtt"), write=args.write))
