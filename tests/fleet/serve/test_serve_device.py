# SPDX-License-Identifier: Apache-2.0
"""A device's epochs: what each added, through boots and wraps."""

from collections.abc import Iterator

import numpy as np
import pytest

from tcuq.fleet.serve import device as devices
from tcuq.fleet.serve.database import Reader
from tcuq.fleet.store.batch import Batch
from tcuq.fleet.store.tables import Store
from tcuq.telemetry import RECORD


@pytest.fixture
def reader(database: str) -> Iterator[Reader]:
    """To the test's database."""
    made = Reader(database, lambda *_: None)
    made.open()
    yield made
    made.close()


def put(store: Store, **fields: int) -> None:
    """Stores one record of device 2^64 - 1."""
    one = np.zeros(1, RECORD)
    one["version"], one["device"] = 1, 2**64 - 1
    for name, value in fields.items():
        one[name] = value
    one["histogram"][0, 3] = fields["steps"] % 2**32 >> fields.get("histogram_shift", 0)
    store.put(Batch.of([(one, store.site("berlin"))]))


def test_epochs_show_what_they_added(store: Store, reader: Reader) -> None:
    """Differences within a boot, whole counters after one, modulo 2^32."""
    put(store, boot=1, sequence=0, epoch=5, steps=1000, abstained=100, evidence_q8=256)
    put(store, boot=1, sequence=1, epoch=6, steps=1500, abstained=110, evidence_q8=-90)
    put(store, boot=2, sequence=0, epoch=7, steps=400, denied=3)
    put(store, boot=2, sequence=1, epoch=7, steps=700, denied=7, evidence_q8=30)
    with reader.session() as session:
        state = devices.state(session, -1, None)
        assert state is not None
        seen = devices.history(session, state)
    assert [(e.epoch, e.evidence_q8, e.whole, e.rebooted) for e in seen] == [
        (5, 256, True, False),
        (6, -90, True, True),
        (7, 30, False, False),
    ]
    assert [e.steps for e in seen] == [1500, 400, 300]
    assert [e.abstained for e in seen] == [110, 0, 0]
    assert [e.denied for e in seen] == [0, 3, 4]
    assert [int(e.histogram.sum()) for e in seen] == [1500, 400, 300]


def test_counters_that_wrapped_still_differ_by_what_was_added(store: Store, reader: Reader) -> None:
    """Past 2^32 within a boot."""
    put(store, boot=1, sequence=0, epoch=5, steps=10, histogram_shift=20)
    put(store, boot=1, sequence=1, epoch=6, steps=2**32 - 100, histogram_shift=20)
    put(store, boot=1, sequence=2, epoch=6, steps=50, histogram_shift=20)
    with reader.session() as session:
        state = devices.state(session, -1, None)
        assert state is not None
        assert [e.steps for e in devices.history(session, state)] == [2**32 - 100, 150]


def test_an_unknown_device_has_no_state(store: Store, reader: Reader) -> None:
    """None, not an empty page."""
    assert store.connection is not None
    with reader.session() as session:
        assert devices.state(session, 77, None) is None
