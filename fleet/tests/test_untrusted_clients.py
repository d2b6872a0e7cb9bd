# SPDX-License-Identifier: Apache-2.0
"""Untrusted clients: certificates, topics by certificate, and invalid records."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fleet.tests.fixtures.attacks.certificate_authority import CertificateAuthority
from fleet.tests.fixtures.records import add_gateway, records_of
from fleet.tests.fixtures.servers import running_worker, wait_until_connected
from tcuq_fleet.errors import FleetError
from tcuq_fleet.ingest.worker import Worker
from tcuq_fleet.mqtt import (
    BrokerAddress,
    Message,
    MqttClient,
    encode_publish,
)
from tcuq_fleet.servers import Broker
from tcuq_fleet.store.store import Store
from tcuq_fleet.wire import ACK, record_topic, records_topic, shared_filters

DEVICE, OTHER = 0xA1, 0xB2


@pytest.fixture
def authority(tmp_path: Path) -> CertificateAuthority:
    """Return the CA that the broker trusts."""
    return CertificateAuthority(tmp_path / "trusted")


@pytest.fixture
def tls_broker(tmp_path: Path, authority: CertificateAuthority) -> Iterator[Broker]:
    """Start a broker that requires client certificates."""
    with authority.broker(tmp_path / "broker") as server:
        yield server


@pytest.fixture
def worker(database: str, tls_broker: Broker, authority: CertificateAuthority) -> Iterator[Worker]:
    """Run a worker with its own certificate."""
    add_gateway(database)
    address = authority.worker_address(tls_broker)
    with running_worker(database, address) as ingest:
        wait_until_connected(ingest)
        yield ingest


def publish(client: MqttClient, topic: str, device: int) -> None:
    """Publish a device's record to a topic with QoS 1."""
    payload = records_of([device]).tobytes()
    client.acknowledge([], encode_publish(topic, payload, 1))


def receive_for(client: MqttClient, seconds: float) -> list[Message]:
    """Return the messages that arrive in this time."""
    messages: list[Message] = []
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        messages += client.receive(left)
    return messages


def devices(store: Store) -> list[int]:
    """Return the stored devices."""
    rows = store.connection.execute("SELECT device FROM devices ORDER BY device")
    return [row[0] for row in rows]


@pytest.mark.usefixtures("worker")
def test_a_device_publishes_only_to_its_own_topic(
    tls_broker: Broker, authority: CertificateAuthority, store: Store
) -> None:
    """A record on the device's own topic is stored; the broker drops others."""
    address = authority.broker_address(tls_broker.port, f"{DEVICE:016x}")
    with MqttClient(address, [f"tcuq/berlin/{DEVICE:016x}/stored"]) as client:
        publish(client, record_topic("berlin", OTHER), OTHER)
        publish(client, records_topic("berlin", "gate-1"), OTHER)
        publish(client, record_topic("berlin", DEVICE), DEVICE)
        (ack,) = receive_for(client, 2.0)
    assert np.frombuffer(ack.payload, ACK).tolist() == [(DEVICE, 1, 0)]
    assert devices(store) == [DEVICE]


@pytest.mark.usefixtures("worker")
def test_a_device_receives_only_its_own_acknowledgements(
    tls_broker: Broker, authority: CertificateAuthority
) -> None:
    """A subscription to all acknowledgements brings only the device's own."""
    addresses = [
        authority.broker_address(tls_broker.port, f"{device:016x}") for device in (OTHER, DEVICE)
    ]
    with (
        MqttClient(addresses[0], ["tcuq/+/+/stored"]) as eavesdropper,
        MqttClient(addresses[1], ["tcuq/+/+/stored"]) as client,
    ):
        publish(client, record_topic("berlin", DEVICE), DEVICE)
        assert len(receive_for(client, 2.0)) == 1
        assert receive_for(eavesdropper, 0.2) == []


def test_a_missing_or_untrusted_certificate_is_refused(
    tls_broker: Broker, authority: CertificateAuthority, tmp_path: Path
) -> None:
    """The TLS handshake fails without a certificate, with a foreign one, and for a foreign CA."""
    anonymous = BrokerAddress("127.0.0.1", tls_broker.port, str(authority.ca))
    untrusted = CertificateAuthority(tmp_path / "untrusted")
    impostor = untrusted.issue("ingest")
    forged = BrokerAddress(
        "127.0.0.1",
        tls_broker.port,
        str(authority.ca),
        str(impostor.certificate),
        str(impostor.key),
    )
    for address in (anonymous, forged, untrusted.broker_address(tls_broker.port, "ingest")):
        with pytest.raises(FleetError, match=r"the broker is gone|no broker answers"):
            MqttClient(address, shared_filters())
