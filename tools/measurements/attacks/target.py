# SPDX-License-Identifier: Apache-2.0
"""Target: the broker that is attacked, the attackers' certificates, and records to send."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tcuq.fleet.mqtt import BrokerAddress
from tcuq.telemetry import sealed
from tools.measurements.fleet_load import hour_of

ATTACKER, VICTIM = 0xA1, 0xB2  # devices of the sites home and away
GATEWAY = "gate-1"  # of the site home


@dataclass(frozen=True, slots=True)
class Target:
    """A broker on this machine, and a folder of ca.pem, NAME.pem and NAME.key."""

    port: int
    folder: Path

    def address(self, name: str) -> BrokerAddress:
        """Return the broker's address with the certificate of a common name."""
        ca, certificate, key = (
            str(self.folder / file) for file in ("ca.pem", f"{name}.pem", f"{name}.key")
        )
        return BrokerAddress("127.0.0.1", self.port, ca, certificate, key)


def record_of(device: int, sequence: int = 0) -> NDArray[Any]:
    """Return a valid record."""
    record = hour_of(1, sequence)
    record["device"] = device
    return sealed(record)
