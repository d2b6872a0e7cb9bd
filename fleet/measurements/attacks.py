# SPDX-License-Identifier: Apache-2.0
"""Attacks on a running fleet, while honest devices send: acknowledgements, rows, broker memory."""

import os
import sys

from fleet.tests.fixtures.attacks.attacks import ATTACKS, Trial
from fleet.tests.fixtures.attacks.scene import (
    MUST_S,
    VISIBLE_S,
    Scene,
    run_attack,
    victim_after_attack,
)
from fleet.tests.fixtures.servers import open_folder
from results.result import Row, arguments, not_reached, report
from tcuq_fleet.store.dead_letters import MAX_PER_HOUR

HOLD_S = 12.0  # the broker publishes its statistics every 5 s


def attack_row(scene: Scene, trial: Trial) -> Row:
    """Run one attack; return its row."""
    outcome = run_attack(scene, trial, hold_s=HOLD_S, statistics=True)
    return Row(
        f"{trial.words}: honest acknowledgement, rows, broker memory, metric",
        f"p99 ≤ {MUST_S:.0f} s, 0 lost, 0 rows, ≤ {MAX_PER_HOUR:,} dead letters, ≤ 128 MB,"
        f" seen in {VISIBLE_S:.0f} s",
        f"p99 {outcome.p99_s:.2f} s of {outcome.sends}, {outcome.unanswered} lost,"
        f" {outcome.other_rows} rows, {outcome.dead_letters:,} dead letters,"
        f" {max(outcome.broker_bytes, 0) / 1e6:.0f} MB, seen in {outcome.visible_s:.0f} s"
        f" (sent in {outcome.took_s:.0f} s)",
        outcome.harmless,
    )


def victim_row(scene: Scene) -> Row:
    """Return whether the victim of forged boots keeps its boot and site, and is still stored."""
    boot, site, took_s = victim_after_attack(scene)
    return Row(
        "the device whose boot was forged: boot and site, its next record",
        "1 at away, acknowledged",
        f"{boot} at {site}, acknowledged in {took_s:.2f} s",
        (boot, site) == (1, "away") and took_s <= MUST_S,
    )


def main() -> None:
    """Run every attack; --short: a tenth of it."""
    args = arguments()
    share = 10 if args.short else 1
    with open_folder() as folder, Scene(folder) as scene:
        rows = [
            attack_row(scene, trial._replace(amount=max(trial.amount // share, 1)))
            for trial in ATTACKS
        ]
        rows.append(victim_row(scene))
    load = f"load average {os.getloadavg()[1]:.0f} on {os.cpu_count()} cores"
    late = f"broker, worker, PostgreSQL, attacker and honest devices shared the machine: {load}"
    more = not_reached(rows, {row.what: late for row in rows})
    sys.exit(report("fleet_attacks", rows, ("psycopg",), write=args.write, more=more))


if __name__ == "__main__":
    main()
