# SPDX-License-Identifier: Apache-2.0
"""A simulated fleet's records: by themselves for measurements, or through a broker."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tcuq.fleet.devices import HOUR_S, Devices, acks_of


def simulate_records(devices: Devices) -> Iterator[NDArray[np.uint8]]:
    """The records of each hour, a row a device in the devices' order, over a perfect network.

    Examples
    --------
    >>> from tcuq.fleet.devices import Plan
    >>> [hour.shape for hour in simulate_records(Devices(Plan(devices=5, hours=2)))]
    [(5, 87), (5, 87)]
    """
    for hour in range(devices.plan.hours):
        end_s = (hour + 1) * HOUR_S - 1
        _, records = devices.advance(end_s)
        devices.stored(end_s, acks_of(records))
        yield records.copy()
