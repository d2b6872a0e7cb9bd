# SPDX-License-Identifier: Apache-2.0
"""Who may speak: certificates, topics by certificate, and what strangers send."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from authority import Authority
from sending import records_of, wait_for

from tcuq.errors import FleetError
from tcuq.fleet.ingest.worker import Worker
from tcuq.fleet.mqtt import Link, Message, Place, packet, text
from tcuq.fleet.servers import Broker
from tcuq.fleet.store.tables import Store
from tcuq.fleet.wire import ACK, SHARED, record_topic, records_topic, stored_topic
from tools.measurements.fleet_untrusted import DEVICES, send_untrusted

DEVICE, OTHER = 0xA1, 0xB2


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Whom the broker trusts."""
    return Authority(tmp_path / "ours")


@pytest.fixture
def guarded(tmp_path: Path, authority: Authority) -> Iterator[Broker]:
    """A broker that asks everybody for a certificate."""
    server = Broker(tmp_path / "broker", certificates=authority.files("broker"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def worker(database: str, guarded: Broker, authority: Authority) -> Iterator[Worker]:
    """A worker with a certificate of its own."""
    place = authority.place(guarded.port, "ingest")
    made = Worker(database, lambda: Link(place, SHARED), gateways=frozenset(["gate-1"]))
    thread = threading.Thread(target=made.run)
    thread.start()
    connected = "tcuq_ingest_broker_connected"
    wait_for(lambda: made.gauges.registry.get_sample_value(connected) == 1)
    yield made
    made.stopping.set()
    thread.join()


def publish(link: Link, topic: str, device: int) -> None:
    """A device's record on some topic, by QoS 1."""
    payload = records_of([device]).tobytes()
    link.acknowledge([], packet(0x32, text(topic.encode()) + b"\x00\x01\x00" + payload))


def heard(link: Link, seconds: float) -> list[Message]:
    """What comes in this time."""
    found: list[Message] = []
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        found += link.receive(left)
    return found


def devices(store: Store) -> list[int]:
    """Those that are stored."""
    rows = store.connection.execute("SELECT device FROM devices ORDER BY device")
    return [row[0] for row in rows]


@pytest.mark.usefixtures("worker")
def test_a_device_speaks_for_itself_alone(
    guarded: Broker, authority: Authority, store: Store
) -> None:
    """On its own topic it is stored and answered; on another's the broker drops it."""
    place = authority.place(guarded.port, f"{DEVICE:016x}")
    with Link(place, [stored_topic("berlin", f"{DEVICE:016x}")]) as link:
        publish(link, record_topic("berlin", OTHER), OTHER)
        publish(link, records_topic("berlin", "gate-1"), OTHER)
        publish(link, record_topic("berlin", DEVICE), DEVICE)
        (answered,) = heard(link, 2.0)
    assert np.frombuffer(answered.payload, ACK).tolist() == [(DEVICE, 1, 0)]
    assert devices(store) == [DEVICE]


@pytest.mark.usefixtures("worker")
def test_a_device_hears_no_other(guarded: Broker, authority: Authority) -> None:
    """A subscription to everything brings only what is its own."""
    with (
        Link(authority.place(guarded.port, f"{OTHER:016x}"), ["tcuq/+/+/stored"]) as curious,
        Link(authority.place(guarded.port, f"{DEVICE:016x}"), ["tcuq/+/+/stored"]) as link,
    ):
        publish(link, record_topic("berlin", DEVICE), DEVICE)
        assert len(heard(link, 2.0)) == 1
        assert heard(curious, 0.2) == []


def test_no_certificate_and_a_strange_authority_are_refused(
    guarded: Broker, authority: Authority, tmp_path: Path
) -> None:
    """The connection ends before a word of MQTT; nor do we trust a broker we do not know."""
    nobody = Place("127.0.0.1", guarded.port, str(authority.ca))
    strange = Authority(tmp_path / "strange")
    impostor = strange.files("ingest")
    forged = Place(
        "127.0.0.1",
        guarded.port,
        str(authority.ca),
        str(impostor.certificate),
        str(impostor.key),
    )
    for place in (nobody, forged, strange.place(guarded.port, "ingest")):
        with pytest.raises(FleetError, match=r"the broker is gone|no broker answers"):
            Link(place, SHARED)


def test_mischief_on_the_wire_changes_nothing(database: str, broker: Broker) -> None:
    """Ten thousand damaged, cut, repeated and foreign records: only the true ones are stored."""
    outcome, _ = send_untrusted(database, broker.port, 10_000)
    assert outcome["alive"] == 1
    assert outcome["devices"] == DEVICES
    assert outcome["steps"] == outcome["cohort_steps"] == 720 * DEVICES
