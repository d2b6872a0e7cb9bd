# SPDX-License-Identifier: Apache-2.0
"""Messages of simulated devices: one record each, or a gateway's batches of one site's records."""

import numpy as np
from numpy.typing import NDArray

from tcuq_fleet.simulate.devices import Devices
from tcuq_fleet.wire import record_topic, records_topic

GATHER_S = 0.2  # between two batches of a gateway


class MessageBuilder:
    """Turns records into topics and payloads, one each or in batches of a gateway."""

    def __init__(self, devices: Devices, gateway: str | None, batch: int) -> None:
        self._devices, self._gateway, self._batch = devices, gateway, batch
        self._gathered: list[tuple[NDArray[np.uint32], NDArray[np.uint8]]] = []
        self._last_s = 0.0

    def build(
        self, now_s: float, senders: NDArray[np.uint32], records: NDArray[np.uint8]
    ) -> list[tuple[str, bytes]]:
        """Return the topics and payloads to publish now; a gateway gathers records first."""
        if self._gateway is None:
            return self._singles(senders, records)
        if len(senders):
            self._gathered.append((self._devices.site[senders], records.copy()))
        if not self._gathered or now_s - self._last_s < GATHER_S:
            return []
        sites, rows = (np.concatenate(column) for column in zip(*self._gathered, strict=True))
        self._gathered, self._last_s = [], now_s
        return self._batches(self._gateway, sites, rows)

    def _singles(
        self, senders: NDArray[np.uint32], records: NDArray[np.uint8]
    ) -> list[tuple[str, bytes]]:
        names, sites = self._devices.site_names, self._devices.site[senders].tolist()
        return [
            (record_topic(names[site], device), record.tobytes())
            for site, device, record in zip(
                sites, self._devices.device[senders].tolist(), records, strict=True
            )
        ]

    def _batches(
        self, gateway: str, sites: NDArray[np.uint32], records: NDArray[np.uint8]
    ) -> list[tuple[str, bytes]]:
        messages, size = [], self._batch
        for site in np.unique(sites).tolist():
            topic = records_topic(self._devices.site_names[site], gateway)
            rows = records[sites == site]
            messages += [
                (topic, rows[at : at + size].tobytes()) for at in range(0, len(rows), size)
            ]
        return messages
