# SPDX-License-Identifier: Apache-2.0
"""Attacks on a running fleet, while honest devices send: acknowledgements, rows, broker memory."""

import os
import sys

from fleet.tests.fixtures.attacks.attacks import ATTACKS, Attack
from fleet.tests.fixtures.attacks.scene import MUST_S, Scene, run_attack, victim_after_attack
from fleet.tests.fixtures.servers import open_folder
from results.result import Row, arguments, not_reached, report
from tcuq_fleet.store.dead_letters import MAX_PER_HOUR


def attack_row(scene: Scene, attack: Attack, count: int, words: str) -> Row:
    """Run one attack; return its row."""
    outcome = run_attack(scene, attack, count)
    return Row(
        f"{words}: honest acknowledgement, rows, broker memory",
        f"p99 ≤ {MUST_S:.0f} s, 0 rows, ≤ {MAX_PER_HOUR:,} dead letters, ≤ 128 MB",
        f"p99 {outcome.p99_s:.2f} s of {outcome.sends}, {outcome.other_rows} rows,"
        f" {outcome.dead_letters:,} dead letters, {outcome.broker_bytes / 1e6:.0f} MB"
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
            attack_row(scene, attack, count // share, words) for attack, count, words in ATTACKS
        ]
        rows.append(victim_row(scene))
    load = f"load average {os.getloadavg()[1]:.0f} on {os.cpu_count()} cores"
    late = f"broker, worker, PostgreSQL, attacker and honest devices shared the machine: {load}"
    more = not_reached(rows, {row.what: late for row in rows})
    sys.exit(report("fleet_attacks", rows, ("psycopg",), write=args.write, more=more))


if __name__ == "__main__":
    main()
