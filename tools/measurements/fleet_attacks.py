# SPDX-License-Identifier: Apache-2.0
"""Attacks on a running fleet, while honest devices send: acknowledgements, rows, broker memory."""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psycopg

from tcuq.fleet.store.dead_letters import MAX_PER_HOUR
from tools.measurements.attacks.attacks import ATTACKS, Attack
from tools.measurements.attacks.scene import HonestDevice, Scene, Witness
from tools.measurements.attacks.target import VICTIM
from tools.measurements.result import ROOT, Row, arguments, not_reached, report

MUST_S = 1.0
BROKER_BYTES = 128 << 20
AFTERWARDS_S = 1.0  # honest devices go on for this long after the attack


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attack did."""

    p99_s: float
    sends: int
    took_s: float
    rows: dict[str, int]  # more than before
    broker_bytes: int  # more than before

    @property
    def harmless(self) -> bool:
        """Whether honest devices, tables and the broker stayed as they should."""
        return (
            self.p99_s <= MUST_S
            and self.dead_letters <= MAX_PER_HOUR
            and self.other_rows == 0
            and self.broker_bytes <= BROKER_BYTES
        )

    @property
    def dead_letters(self) -> int:
        """Dead letters that it left."""
        return self.rows["dead_letters"]

    @property
    def other_rows(self) -> int:
        """Rows that it left in other tables."""
        return sum(self.rows.values()) - self.dead_letters


def run_attack(scene: Scene, attack: Attack, count: int) -> Outcome:
    """Run one attack while honest devices send."""
    with Witness(scene) as witness:
        before, memory = scene.rows(), scene.broker_bytes()  # with the honest devices
        began = time.monotonic()
        subprocess.run(
            [
                sys.executable, "-m", "tools.measurements.attacks", attack.__name__, str(count),
                "--port", str(scene.target.port), "--certificates", str(scene.target.folder),
            ],
            cwd=ROOT, check=True,
        )  # fmt: skip
        took = time.monotonic() - began
        time.sleep(AFTERWARDS_S)
    rows = {name: rows - before[name] for name, rows in scene.rows().items()}
    return Outcome(
        float(np.quantile(witness.seconds, 0.99)),
        len(witness.seconds),
        took,
        rows,
        max(witness.broker_bytes) - memory,
    )


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
    """The victim of forged boots is where and what it was, and still stored."""
    with psycopg.connect(scene.postgres.url) as connection:
        state = connection.execute(
            "SELECT boot, name FROM devices JOIN sites USING (site) WHERE device = %s", [VICTIM]
        ).fetchone()
    with HonestDevice(scene.target, VICTIM, "away") as victim:
        victim.send()
        took = victim.send()
    return Row(
        "the device whose boot was forged: boot and site, its next record",
        "1 at away, acknowledged",
        f"{state[0]} at {state[1]}, acknowledged in {took:.2f} s" if state else "not stored",
        state == (1, "away") and took <= MUST_S,
    )


def main() -> None:
    """Run every attack; --short: a tenth of it."""
    args = arguments()
    share = 10 if args.short else 1
    with tempfile.TemporaryDirectory() as name, Scene(Path(name)) as scene:
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
