# SPDX-License-Identifier: Apache-2.0
"""Patroni: the primary's machine is lost while devices send; Patroni promotes; counts end exact.

Nobody does anything but bring the lost machine back, empty; Patroni copies the data to it.
"""

import time

from fleet.measurements.rehearsal import measure
from fleet.tests.fixtures.patroni import Cluster


class LostMachines(Cluster):
    """A cluster whose primary's machine is lost again and again."""

    def lose(self, pause_s: float) -> float:
        """Lose the primary's machine, bring it back empty; return the seconds until it is whole."""
        time.sleep(pause_s)
        began = time.monotonic()
        node = self.primary()
        node.lose()
        node.start()
        self.wait()
        return time.monotonic() - began


if __name__ == "__main__":
    measure(
        "fleet_patroni",
        LostMachines,
        "the primary's machine lost, its standby promoted by Patroni",
        "seconds from the loss to a primary with a standby",
    )
