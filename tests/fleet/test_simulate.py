# SPDX-License-Identifier: Apache-2.0
"""Simulated devices through a real broker to a store that keeps the rules."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exact_store import ExactStore
from mosquitto import Mosquitto, certified

from tcuq.cli import main
from tcuq.errors import InputError
from tcuq.fleet.devices import COUNTERS, Devices, Plan
from tcuq.fleet.link import Broker
from tcuq.fleet.simulate import Outcome, Wire, simulate, write_truth
from tcuq.fleet.wire import parse, stored_topic

RECORD_BYTES = 87
COMMAND = (sys.executable, "-m", "tcuq.cli", "fleet", "simulate")


class Worker:
    """An ingest of the smallest kind: stores what comes, and says so."""

    def __init__(self, broker: Broker) -> None:
        self.store, self.messages, self.wrong = ExactStore(), 0, 0
        self.client = broker.client("worker")
        self.client.on_connect = self._connected
        self.client.on_message = self._stored
        broker.connect(self.client)

    def stop(self) -> None:
        """It hears no more."""
        self.client.disconnect()
        self.client.loop_stop()

    def _connected(self, client: Any, *_: Any) -> None:
        client.subscribe([(f"$share/ingest/tcuq/+/+/{kind}", 1) for kind in ("record", "records")])

    def _stored(self, client: Any, _data: Any, message: Any) -> None:
        topic, payload = parse(message.topic), message.payload
        records = [payload[at : at + RECORD_BYTES] for at in range(0, len(payload), RECORD_BYTES)]
        self.messages += 1
        self.wrong += (
            topic.kind == "record" and int.from_bytes(payload[2:10], "little") != topic.device
        )
        acks = b"".join(self.store.put(record) for record in records)
        client.publish(stored_topic(topic.site, topic.name), acks, qos=0)


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    """A broker for one test."""
    made = Mosquitto(tmp_path)
    yield made
    made.stop()


def assert_stored(worker: Worker, devices: Devices, done: Outcome) -> None:
    """The store holds exactly what devices counted."""
    told = devices.truth()
    rows = [worker.store.rows[int(device)] for device in devices.device]
    assert (done.waiting, done.refused, worker.wrong) == (0, 0, 0)
    np.testing.assert_array_equal([row.sums for row in rows], told.counters)
    np.testing.assert_array_equal([row.boot for row in rows], told.boot)
    np.testing.assert_array_equal([row.sequence for row in rows], told.sequence)


@pytest.mark.parametrize("gateway", [None, "gateway-1"])
def test_all_is_stored_through_a_wire_that_loses_and_repeats(
    gateway: str | None, mosquitto: Mosquitto
) -> None:
    """One record a message, and a gateway's batches."""
    broker = Broker(url=f"mqtt://127.0.0.1:{mosquitto.port}")
    wire = Wire(broker=broker, gateway=gateway, loss=0.1, duplication=0.1, hour_s=0.5, batch=50)
    first_s, longest_s = wire.simulated_s(0.3), wire.simulated_s(1)
    devices = Devices(
        Plan(devices=300, hours=6, reboot=0.2, steps=10, resend_s=first_s, longest_s=longest_s)
    )
    worker = Worker(broker)
    done = simulate(devices, wire, threading.Event())
    worker.stop()
    assert_stored(worker, devices, done)
    assert done.sent > 6 * 300 * 1.05
    if gateway:
        assert worker.messages < done.sent / 2


def test_a_broker_that_dies_loses_nothing(mosquitto: Mosquitto) -> None:
    """Killed in the middle, and back a second later: devices send again."""
    broker = Broker(url=f"mqtt://127.0.0.1:{mosquitto.port}")
    wire = Wire(broker=broker, hour_s=1, resend_s=0.3, longest_s=1)
    devices = Devices(
        Plan(devices=200, hours=4, reboot=0.2, steps=10, resend_s=1000, longest_s=3600)
    )
    worker = Worker(broker)

    def accident() -> None:
        time.sleep(1.5)
        mosquitto.kill()
        time.sleep(0.5)
        mosquitto.start()

    thread = threading.Thread(target=accident)
    thread.start()
    done = simulate(devices, wire, threading.Event())
    thread.join()
    worker.stop()
    assert_stored(worker, devices, done)


def test_mutual_tls(tmp_path: Path) -> None:
    """With a certificate all is stored; without one, or trusting another authority, nothing is."""
    ca = certified(tmp_path / "ca", "authority")
    server, own = (certified(tmp_path / "certs", name, ca) for name in ("server", "simulator"))
    mosquitto = Mosquitto(
        tmp_path, "require_certificate true", "use_identity_as_username true",
        f"cafile {ca.certificate}", f"certfile {server.certificate}", f"keyfile {server.key}",
    )  # fmt: skip
    url = f"mqtts://127.0.0.1:{mosquitto.port}"
    broker = Broker(
        url=url, ca=str(ca.certificate), certificate=str(own.certificate), key=str(own.key)
    )
    devices = Devices(Plan(devices=20, hours=1, steps=10))
    worker = Worker(broker)
    done = simulate(devices, Wire(broker=broker, hour_s=0.5), threading.Event())
    worker.stop()
    assert_stored(worker, devices, done)
    other = certified(tmp_path / "other", "authority")
    mine = ("--cert", own.certificate, "--key", own.key)
    for options in (("--ca", ca.certificate), ("--ca", other.certificate, *mine)):
        done_badly = subprocess.run(
            [*COMMAND, "--devices", "1", "--broker", url, *map(str, options)],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done_badly.returncode == 1
        assert "broker" in done_badly.stderr
    mosquitto.stop()


def test_the_command_ends_well_when_it_is_told_to(mosquitto: Mosquitto, tmp_path: Path) -> None:
    """SIGTERM in the middle: the truth so far is written, and says what still waits."""
    truth = tmp_path / "truth.npz"
    command = subprocess.Popen(
        [*COMMAND, "--devices", "50", "--drift", "10%",
         "--reboot", "0.1%", "--hour-s", "0.5", "--steps", "10", "--json", "--truth", str(truth),
         "--broker", f"mqtt://127.0.0.1:{mosquitto.port}"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(4)
    command.send_signal(signal.SIGTERM)
    said, _ = command.communicate(timeout=30)
    assert command.returncode == 0
    facts = json.loads(said)
    assert facts["stopped"]
    assert facts["waiting"] > 0  # nobody stored anything
    with np.load(truth) as file:
        assert {*COUNTERS, "device", "boot", "sequence", "site", "sites", "firmware", "profile",
                "drifts_from", "waiting", "refused"} == set(file.files)  # fmt: skip
        assert (file["waiting"] > 0).sum() == facts["waiting"]
        assert (file["drifts_from"] == 0).sum() == 5


def test_the_truth_in_a_file_is_the_devices(tmp_path: Path) -> None:
    """Column by column."""
    devices = Devices(Plan(devices=30, hours=3, reboot=0.5, steps=10))
    devices.advance(3 * 3600)
    write_truth(devices, tmp_path / "truth.npz")
    with np.load(tmp_path / "truth.npz") as file:
        counters = np.stack([file[name] for name in COUNTERS], axis=1)
        np.testing.assert_array_equal(counters, devices.truth().counters)
        np.testing.assert_array_equal(file["device"], devices.device)
        assert file["sites"][file["site"][0]] == devices.site_names[devices.site[0]]


def test_no_broker(capsys: pytest.CaptureFixture[str]) -> None:
    """A port where nobody listens is an error that names it."""
    assert main(["fleet", "simulate", "--devices", "1", "--broker", "mqtt://127.0.0.1:1"]) == 1
    assert "127.0.0.1:1: no broker answers" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["http://host", "mqtt://", "mqtt://host:x", "mqtt://host/topic"])
def test_what_is_no_broker(url: str) -> None:
    """Another scheme, no host, no port, a topic."""
    with pytest.raises(InputError):
        Broker(url=url)


@pytest.mark.parametrize(
    ("option", "value"), [("drift", "101%"), ("loss", "x"), ("reboot", "-1%"), ("drift", "nan")]
)
def test_what_is_no_share(option: str, value: str) -> None:
    """Refused by the command line itself."""
    with pytest.raises(SystemExit, match="2"):
        main(["fleet", "simulate", "--devices", "1", f"--{option}={value}"])


@pytest.mark.parametrize(
    "wrong", [{"loss": 1.0}, {"hour_s": 0}, {"batch": 1001}, {"connections": 0}]
)
def test_a_wrong_wire_is_refused(wrong: dict[str, Any]) -> None:
    """By the name of what is wrong."""
    with pytest.raises(InputError, match=next(iter(wrong))):
        Wire(**wrong)
