# SPDX-License-Identifier: Apache-2.0
"""Failover: the primary is killed while devices send, its standby promoted; counts end exact."""

import json
import sys
import tempfile
import time
from pathlib import Path

from tcuq.fleet.servers import Postgres
from tools.measurements.fleet_faults import Scene, differences
from tools.measurements.fleet_replication import SYNCHRONOUS, kill, promote, start_standby
from tools.measurements.result import Row, arguments, report


class Pair:
    """A primary and its synchronous standby."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.primary, self.standby = (
            Postgres(folder / name, memory="128MB", settings="") for name in ("one", "two")
        )
        hosts = ",".join(
            server.url.split("@")[1].split("/")[0] for server in (self.primary, self.standby)
        )
        self.url = f"postgresql://tcuq@{hosts}/fleet"
        self.primary.start()  # creating the database would wait for a standby
        self.primary.stop()
        self.primary.settings = SYNCHRONOUS
        self.primary.launch()
        start_standby(self.primary, self.standby)

    def fail_over(self) -> float:
        """Kill the primary, promote the standby, make a new standby; return seconds without one."""
        began = time.monotonic()
        kill(self.primary)
        promote(self.standby)
        self.primary, self.standby = self.standby, self.primary
        start_standby(self.primary, self.standby)
        return time.monotonic() - began

    def close(self) -> None:
        """Stop both."""
        self.standby.stop("immediate")
        self.primary.stop("immediate")


def rehearse(devices: int, hours: int, hour_s: float, promotions: int) -> dict[str, float]:
    """Fail over while the devices send; return what differs from the truth, and durations."""
    with tempfile.TemporaryDirectory() as name:
        pair = Pair(Path(name))
        scene = Scene(Path(name) / "fleet", devices, hours, hour_s, pair.url)
        try:
            pause_s = hours * hour_s * 0.8 / promotions
            seconds = []
            for _ in range(promotions):
                time.sleep(pause_s / 2)
                seconds.append(pair.fail_over())
                time.sleep(max(0.0, pause_s / 2 - seconds[-1]))
            sending = scene.fleet.poll() is None
            out, _ = scene.fleet.communicate()
            outcome = differences(pair.primary.url, scene.truth)
        finally:
            scene.close()
            pair.close()
    summary = json.loads(out)
    return outcome | {
        "sent": int(summary["sent"]),
        "sending": int(sending),
        "longest_s": max(seconds),
        "promotions": promotions,
    }


def main() -> None:
    """Measure; --short: fewer devices, one promotion."""
    args = arguments()
    devices, hours, hour_s, promotions = (2_000, 8, 3.0, 1) if args.short else (20_000, 40, 5.0, 3)
    outcome = rehearse(devices, hours, hour_s, promotions)
    exact = outcome["devices"] == outcome["cohorts"] == outcome["waiting"] == 0
    rows = [
        Row(
            f"{devices:,} devices sending, primary killed and standby promoted {promotions} times:"
            " devices and cohorts that differ from the truth",
            "0 and 0",
            f"{outcome['devices']} and {outcome['cohorts']} of {outcome['cohorts_in_all']}"
            f" ({outcome['steps']:,} steps, {outcome['sent']:,} records sent,"
            f" {outcome['restarts']:,} restarts)",
            exact and outcome["sending"] == 1,
        ),
        Row(
            "seconds from the kill to a primary with a standby, longest",
            "stated",
            f"{outcome['longest_s']:.1f}",
            None,
        ),
    ]
    sys.exit(report("fleet_failover", rows, ("psycopg", "paho-mqtt"), write=args.write))


if __name__ == "__main__":
    main()
