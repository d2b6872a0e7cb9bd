# SPDX-License-Identifier: Apache-2.0
"""Failover: the primary is killed while devices send, its standby promoted; counts end exact."""

import tempfile
import time
from pathlib import Path

from fleet.measurements.faults import Scene
from fleet.measurements.rehearsal import Outcome, measure, outcome_of
from fleet.tests.fixtures.replication import SYNCHRONOUS, kill, promote, start_standby
from tcuq_fleet.servers import Postgres


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
        self.standby.crash()
        self.primary.crash()


def rehearse(devices: int, hours: int, hour_s: float, promotions: int) -> Outcome:
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
            return outcome_of(scene, pair.primary.url, seconds)
        finally:
            scene.close()
            pair.close()


if __name__ == "__main__":
    measure(
        "fleet_failover",
        rehearse,
        "primary killed and standby promoted",
        "seconds from the kill to a primary with a standby",
    )
