# SPDX-License-Identifier: Apache-2.0
"""Simulated devices send through a real broker to the reference store."""

import json
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from fleet.tests.fixtures.attacks.certificate_authority import CertificateAuthority
from fleet.tests.fixtures.sender import wait_for
from tcuq.cli import main
from tcuq.telemetry import COUNTERS
from tcuq_fleet.errors import FleetError
from tcuq_fleet.mqtt import BrokerAddress, Message, MqttClient, encode_publish
from tcuq_fleet.servers import Broker
from tcuq_fleet.simulate.devices import Devices, Plan
from tcuq_fleet.simulate.run import SimulationResult, simulate, write_truth
from tcuq_fleet.simulate.transport import TransportOptions
from tcuq_fleet.wire import SHARED_FILTERS, parse_topic, stored_topic
from tests.fixtures.uplink.reference_store import ReferenceStore

RECORD_BYTES = 87
COMMAND = (sys.executable, "-m", "tcuq.cli", "fleet", "simulate")


class ReferenceWorker(threading.Thread):
    """A minimal ingest worker: it stores each message and acknowledges it."""

    def __init__(self, address: BrokerAddress) -> None:
        super().__init__()
        self.store, self.messages, self.mismatched = ReferenceStore(), 0, 0
        self._address, self._stopping = address, threading.Event()
        self._client = MqttClient(address, SHARED_FILTERS)
        self.start()

    def stop(self) -> None:
        """Stop receiving and disconnect."""
        self._stopping.set()
        self.join()
        self._client.__exit__()

    def run(self) -> None:
        """Receive and store until stopped, reconnecting when needed."""
        while not self._stopping.is_set():
            try:
                messages = self._client.receive(0.1)
                acks = b"".join(self._store(message) for message in messages)
                self._client.acknowledge(messages, acks)
            except FleetError:
                self._reconnect()

    def _reconnect(self) -> None:
        self._client.__exit__()
        while not self._stopping.wait(0.1):
            with suppress(FleetError):
                self._client = MqttClient(self._address, SHARED_FILTERS)
                return

    def _store(self, message: Message) -> bytes:
        topic, payload = parse_topic(message.topic.decode()), message.payload
        records = [payload[at : at + RECORD_BYTES] for at in range(0, len(payload), RECORD_BYTES)]
        self.messages += 1
        self.mismatched += (
            topic.kind == "record" and int.from_bytes(payload[2:10], "little") != topic.device
        )
        acks = b"".join(self.store.put(record) for record in records)
        return encode_publish(stored_topic(topic.site, topic.name), acks)


def assert_stored(worker: ReferenceWorker, devices: Devices, result: SimulationResult) -> None:
    """Check that the store holds exactly what devices counted."""
    truth = devices.truth()
    rows = [worker.store.rows[int(device)] for device in devices.device]
    assert (result.waiting, result.refused, worker.mismatched) == (0, 0, 0)
    np.testing.assert_array_equal([row.sums for row in rows], truth.counters)
    np.testing.assert_array_equal([row.boot for row in rows], truth.boot)
    np.testing.assert_array_equal([row.sequence for row in rows], truth.sequence)


@pytest.mark.parametrize("gateway", [None, "gateway-1"])
def test_all_is_stored_over_a_lossy_transport(
    gateway: str | None, broker_address: BrokerAddress
) -> None:
    """Loss and duplication change nothing, for single records and for a gateway's batches."""
    options = TransportOptions(
        broker=broker_address, gateway=gateway, loss=0.1, duplication=0.1, hour_s=0.5, batch=50
    )
    first_s, longest_s = options.simulated_s(0.3), options.simulated_s(1)
    devices = Devices(
        Plan(devices=300, hours=6, reboot=0.2, steps=10, resend_s=first_s, longest_s=longest_s)
    )
    worker = ReferenceWorker(broker_address)
    result = simulate(devices, options, threading.Event())
    worker.stop()
    assert_stored(worker, devices, result)
    assert result.sent > 6 * 300 * 1.05
    if gateway:
        assert worker.messages < result.sent / 2


def test_a_broker_crash_loses_nothing(broker: Broker, broker_address: BrokerAddress) -> None:
    """Devices resend what a killed broker lost."""
    options = TransportOptions(broker=broker_address, hour_s=1, resend_s=0.3, longest_s=1)
    devices = Devices(
        Plan(devices=200, hours=4, reboot=0.2, steps=10, resend_s=1000, longest_s=3600)
    )
    worker = ReferenceWorker(broker_address)
    with ThreadPoolExecutor(1) as executor:  # the broker ends with the thread that started it
        simulation = executor.submit(simulate, devices, options, threading.Event())
        time.sleep(1.5)
        broker.crash()
        time.sleep(0.5)
        broker.start()
        result = simulation.result()
    worker.stop()
    assert_stored(worker, devices, result)


def test_mutual_tls(tmp_path: Path) -> None:
    """Records are stored with a certificate, and refused without one or with another CA."""
    authority = CertificateAuthority(tmp_path / "trusted")
    other = CertificateAuthority(tmp_path / "other")
    broker = Broker(tmp_path / "broker", certificates=authority.issue("broker"))
    broker.start()
    devices = Devices(Plan(devices=1, hours=1, steps=10))
    own = authority.broker_address(broker.port, f"{int(devices.device[0]):016x}")
    worker = ReferenceWorker(authority.broker_address(broker.port, "ingest"))
    result = simulate(devices, TransportOptions(broker=own, hour_s=0.5), threading.Event())
    worker.stop()
    assert_stored(worker, devices, result)
    client = ("--certificate", str(own.certificate), "--key", str(own.key))
    for options in (("--ca", str(authority.ca)), ("--ca", str(other.ca), *client)):
        failed = subprocess.run(
            [*COMMAND, "--devices", "1", "--broker", f"mqtts://127.0.0.1:{broker.port}", *options],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert failed.returncode == 1
        assert "broker" in failed.stderr
    broker.stop()


def test_the_command_stops_on_sigterm(broker: Broker, tmp_path: Path) -> None:
    """SIGTERM ends the command, which writes the truth so far and the waiting records."""
    truth = tmp_path / "truth.npz"
    command = subprocess.Popen(
        [*COMMAND, "--devices", "50", "--drift", "10%",
         "--reboot", "0.1%", "--hour-s", "0.5", "--steps", "10", "--json", "--truth", str(truth),
         "--broker", f"mqtt://127.0.0.1:{broker.port}"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with MqttClient(BrokerAddress("127.0.0.1", broker.port), ["tcuq/+/+/record"]) as link:
        wait_for(lambda: link.receive(0.5), 60)
    command.send_signal(signal.SIGTERM)
    output, _ = command.communicate(timeout=30)
    assert command.returncode == 0
    facts = json.loads(output)
    assert facts["stopped"]
    assert facts["waiting"] > 0  # nothing was stored
    with np.load(truth) as file:
        assert {*COUNTERS, "device", "boot", "sequence", "site", "sites", "firmware", "profile",
                "drifts_from", "waiting", "refused"} == set(file.files)  # fmt: skip
        assert (file["waiting"] > 0).sum() == facts["waiting"]
        assert (file["drifts_from"] == 0).sum() == 5


def test_the_truth_file_holds_the_devices_truth(tmp_path: Path) -> None:
    """Every column of the file equals the devices' truth."""
    devices = Devices(Plan(devices=30, hours=3, reboot=0.5, steps=10))
    devices.advance(3 * 3600)
    write_truth(devices, tmp_path / "truth.npz")
    with np.load(tmp_path / "truth.npz") as file:
        counters = np.stack([file[name] for name in COUNTERS], axis=1)
        np.testing.assert_array_equal(counters, devices.truth().counters)
        np.testing.assert_array_equal(file["device"], devices.device)
        assert file["sites"][file["site"][0]] == devices.site_names[devices.site[0]]


def test_a_missing_broker_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A port without a listener is an error that holds the address."""
    assert main(["fleet", "simulate", "--devices", "1", "--broker", "mqtt://127.0.0.1:1"]) == 1
    assert "127.0.0.1:1: no broker answers" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["http://host", "mqtt://", "mqtt://host:x", "mqtt://host/topic"])
def test_an_invalid_broker_url_is_refused(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Another scheme, no host, an invalid port or a topic is refused."""
    assert main(["fleet", "simulate", "--devices", "1", "--broker", url]) == 1
    assert "broker" in capsys.readouterr().err
