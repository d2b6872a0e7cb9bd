# SPDX-License-Identifier: Apache-2.0
"""Devices that are on for less than a day at a time are judged like the others."""

import numpy as np

from tcuq.telemetry import RECORD
from tcuq_fleet.judge.judge import judge
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.store.store import Store

DAYS, HOURS = 30, 10
RECORDS_PER_EPOCH = 24
DEVICES, DRIFTING = 500, 50


def test_devices_on_for_ten_hours_a_day_are_judged(store: Store) -> None:
    """Epochs go on over reboots, so that they close, and the drifting devices are found."""
    site = store.site("berlin")
    drifts = np.arange(DEVICES) < DRIFTING
    judged = []
    for day in range(DAYS):
        for hour in range(HOURS):
            epoch, age = divmod(day * HOURS + hour, RECORDS_PER_EPOCH)
            records = np.zeros(DEVICES, RECORD)
            records["version"], records["device"] = 1, np.arange(DEVICES)
            records["boot"], records["sequence"] = day, hour
            records["steps"], records["epoch"] = 3600 * (hour + 1), epoch
            records["evidence"] = np.where(drifts, 4 * age, -4)
            records["closed"] = np.where(drifts, 4 * RECORDS_PER_EPOCH, -4)
            store.put(Batch.of([(records, site)]))
        judgement = judge(store.connection, Rules())
        assert judgement is not None
        judged.append((judgement.judgeable, judgement.discovered))
    assert judged == [(DEVICES, DRIFTING)] * DAYS
    closed = store.connection.execute("SELECT count(*), count(DISTINCT epoch) FROM epochs")
    epochs = (DAYS * HOURS - 1) // RECORDS_PER_EPOCH
    assert closed.fetchone() == (DEVICES * epochs, epochs)
