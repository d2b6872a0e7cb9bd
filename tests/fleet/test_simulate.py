# SPDX-License-Identifier: Apache-2.0
"""Simulated devices through a real broker to a store that keeps the rules."""

import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from authority import Authority
from exact_store import ExactStore

from tcuq.cli import main
from tcuq.errors import FleetError, InputError
from tcuq.fleet.mqtt import Link, Message, Place, answer
from tcuq.fleet.servers import Broker
from tcuq.fleet.simulate.devices import Devices, Plan
from tcuq.fleet.simulate.run import Outcome, Wire, simulate, write_truth
from tcuq.fleet.wire import SHARED, parse, stored_topic
from tcuq.telemetry import COUNTERS

RECORD_BYTES = 87
COMMAND = (sys.executable, "-m", "tcuq.cli", "fleet", "simulate")


class Worker(threading.Thread):
    """An ingest of the smallest kind: stores what comes, and says so."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.store, self.messages, self.wrong = ExactStore(), 0, 0
        self._place, self._stopping = place, threading.Event()
        self._link = Link(place, SHARED)
        self.start()

    def stop(self) -> None:
        """It hears no more."""
        self._stopping.set()
        self.join()
        self._link.__exit__()

    def run(self) -> None:
        """Until stopped, over as many connections as that takes."""
        while not self._stopping.is_set():
            try:
                came = self._link.receive(0.1)
                self._link.acknowledge(came, b"".join(self._stored(message) for message in came))
            except FleetError:
                self._again()

    def _again(self) -> None:
        self._link.__exit__()
        while not self._stopping.wait(0.1):
            with suppress(FleetError):
                self._link = Link(self._place, SHARED)
                return

    def _stored(self, message: Message) -> bytes:
        topic, payload = parse(message.topic.decode()), message.payload
        records = [payload[at : at + RECORD_BYTES] for at in range(0, len(payload), RECORD_BYTES)]
        self.messages += 1
        self.wrong += (
            topic.kind == "record" and int.from_bytes(payload[2:10], "little") != topic.device
        )
        acks = b"".join(self.store.put(record) for record in records)
        return answer(stored_topic(topic.site, topic.name), acks)


@pytest.fixture
def place(broker: Broker) -> Place:
    """Where the broker is."""
    return Place("127.0.0.1", broker.port)


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
    gateway: str | None, place: Place
) -> None:
    """One record a message, and a gateway's batches."""
    wire = Wire(broker=place, gateway=gateway, loss=0.1, duplication=0.1, hour_s=0.5, batch=50)
    first_s, longest_s = wire.simulated_s(0.3), wire.simulated_s(1)
    devices = Devices(
        Plan(devices=300, hours=6, reboot=0.2, steps=10, resend_s=first_s, longest_s=longest_s)
    )
    worker = Worker(place)
    done = simulate(devices, wire, threading.Event())
    worker.stop()
    assert_stored(worker, devices, done)
    assert done.sent > 6 * 300 * 1.05
    if gateway:
        assert worker.messages < done.sent / 2


def test_a_broker_that_dies_loses_nothing(broker: Broker, place: Place) -> None:
    """Killed in the middle, and back a second later: devices send again."""
    wire = Wire(broker=place, hour_s=1, resend_s=0.3, longest_s=1)
    devices = Devices(
        Plan(devices=200, hours=4, reboot=0.2, steps=10, resend_s=1000, longest_s=3600)
    )
    worker = Worker(place)

    def accident() -> None:
        time.sleep(1.5)
        broker.stop(signal.SIGKILL)
        time.sleep(0.5)
        broker.start()

    thread = threading.Thread(target=accident)
    thread.start()
    done = simulate(devices, wire, threading.Event())
    thread.join()
    worker.stop()
    assert_stored(worker, devices, done)


def test_mutual_tls(tmp_path: Path) -> None:
    """With a certificate all is stored; without one, or trusting another authority, nothing is."""
    authority, other = Authority(tmp_path / "ours"), Authority(tmp_path / "other")
    broker = Broker(tmp_path / "broker", certificates=authority.files("broker"))
    broker.start()
    devices = Devices(Plan(devices=1, hours=1, steps=10))
    own = authority.place(broker.port, f"{int(devices.device[0]):016x}")
    worker = Worker(authority.place(broker.port, "ingest"))
    done = simulate(devices, Wire(broker=own, hour_s=0.5), threading.Event())
    worker.stop()
    assert_stored(worker, devices, done)
    mine = ("--certificate", str(own.certificate), "--key", str(own.key))
    for options in (("--ca", str(authority.ca)), ("--ca", str(other.ca), *mine)):
        done_badly = subprocess.run(
            [*COMMAND, "--devices", "1", "--broker", f"mqtts://127.0.0.1:{broker.port}", *options],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done_badly.returncode == 1
        assert "broker" in done_badly.stderr
    broker.stop()


def test_the_command_ends_well_when_it_is_told_to(broker: Broker, tmp_path: Path) -> None:
    """SIGTERM in the middle: the truth so far is written, and says what still waits."""
    truth = tmp_path / "truth.npz"
    command = subprocess.Popen(
        [*COMMAND, "--devices", "50", "--drift", "10%",
         "--reboot", "0.1%", "--hour-s", "0.5", "--steps", "10", "--json", "--truth", str(truth),
         "--broker", f"mqtt://127.0.0.1:{broker.port}"],
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
def test_what_is_no_broker(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Another scheme, no host, no port, a topic."""
    assert main(["fleet", "simulate", "--devices", "1", "--broker", url]) == 1
    assert "broker" in capsys.readouterr().err


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
        Wire(broker=Place("127.0.0.1", 1883), **wrong)
