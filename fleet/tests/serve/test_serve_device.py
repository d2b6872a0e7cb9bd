# SPDX-License-Identifier: Apache-2.0
"""A device's epochs: what each added to the counters, over reboots and wraps."""

from collections.abc import Iterator

import numpy as np
import pytest

from tcuq.telemetry import RECORD, UNSIGNED_VERSION
from tcuq_fleet.serve import device as devices
from tcuq_fleet.serve.database import Reader
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.store.store import Store


@pytest.fixture
def reader(database: str) -> Iterator[Reader]:
    """Open a reader of the test's database."""
    pool = Reader(database, lambda *_: None)
    pool.open()
    yield pool
    pool.close()


def put(store: Store, **fields: int) -> None:
    """Store one record of device 2^64 - 1."""
    record = np.zeros(1, RECORD)
    record["version"], record["device"] = UNSIGNED_VERSION, 2**64 - 1
    for name, value in fields.items():
        record[name] = value
    record["histogram"][0, 3] = fields["steps"] % 2**32 >> fields.get("histogram_shift", 0)
    store.put(Batch.of([(record, store.site("berlin"))]))


def test_epochs_show_what_they_added(store: Store, reader: Reader) -> None:
    """An epoch shows the difference within a boot, and all counters after a reboot."""
    put(store, boot=1, sequence=0, epoch=0, steps=1000, abstained=100, evidence=2)
    put(store, boot=1, sequence=1, epoch=1, steps=1500, abstained=110, evidence=-1, closed=4)
    put(store, boot=2, sequence=0, epoch=2, steps=400, denied=3, closed=-9)
    put(store, boot=2, sequence=1, epoch=2, steps=700, denied=7, evidence=3, closed=-9)
    with reader.session() as session:
        state = devices.state(session, -1, None)
        assert state is not None
        epochs = devices.history(session, state)
    assert [(e.epoch, e.evidence_bits, e.closed, e.rebooted) for e in epochs] == [
        (0, 2, True, False),
        (1, -4.5, True, True),
        (2, 1.5, False, False),
    ]
    assert [e.steps for e in epochs] == [1500, 400, 300]
    assert [e.abstained for e in epochs] == [110, 0, 0]
    assert [e.denied for e in epochs] == [0, 3, 4]
    assert [sum(e.risk_histogram) for e in epochs] == [1500, 400, 300]


def test_wrapped_counters_give_the_right_difference(store: Store, reader: Reader) -> None:
    """A counter that wraps at 2^32 within a boot gives the right difference."""
    put(store, boot=1, sequence=0, epoch=0, steps=10, histogram_shift=20)
    put(store, boot=1, sequence=1, epoch=1, steps=2**32 - 100, histogram_shift=20)
    put(store, boot=1, sequence=2, epoch=1, steps=50, histogram_shift=20)
    with reader.session() as session:
        state = devices.state(session, -1, None)
        assert state is not None
        assert [e.steps for e in devices.history(session, state)] == [2**32 - 100, 150]


def test_an_unknown_device_has_no_state(store: Store, reader: Reader) -> None:
    """The state of an unknown device is None."""
    assert store.connection is not None
    with reader.session() as session:
        assert devices.state(session, 77, None) is None
