# SPDX-License-Identifier: Apache-2.0
"""A fleet to attack: broker with mutual TLS, PostgreSQL, a worker, and honest devices."""

import itertools
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Self

import numpy as np
import psycopg

from tcuq.errors import FleetError
from tcuq.fleet.mqtt import MqttClient, encode_publish
from tcuq.fleet.servers import Broker, Postgres
from tcuq.fleet.store.migrate import migrate
from tcuq.fleet.store.registry import Registry
from tcuq.fleet.wire import ACK, device_name
from tools.measurements.attacks.certificate_authority import CertificateAuthority
from tools.measurements.attacks.target import ATTACKER, GATEWAY, VICTIM, Target, record_of

HONEST = 16  # devices of each witness
MAX_SENDS = 100  # of a device, within its quota of 120 messages per hour
TABLES = ("sites", "devices", "registry", "quarantine", "dead_letters")
LOST_S = 10.0  # an acknowledgement that takes longer counts as this
PAUSE_S = 0.2
SEQUENCES = itertools.count(1)
DEVICES = itertools.count(0x1000)


class Scene:
    """Servers and a worker of our own, in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.authority = CertificateAuthority(folder / "ca")
        self.postgres = Postgres(folder)
        self.broker = Broker(folder / "broker", certificates=self.authority.issue("broker"))
        self.target = Target(self.broker.port, self.authority.folder)
        for name in (device_name(ATTACKER), device_name(VICTIM), GATEWAY):
            self.authority.issue(name)
        self._worker: subprocess.Popen[bytes] | None = None
        self._folder = folder

    def __enter__(self) -> Self:
        self.postgres.start()
        self.broker.start()
        with psycopg.connect(self.postgres.url, autocommit=True) as connection:
            migrate(connection)
            Registry(connection).add_gateway(GATEWAY, ["home"])
        pem = self.authority.issue("ingest")
        with (self._folder / "worker.log").open("wb") as log:
            self._worker = subprocess.Popen(
                [
                    sys.executable, "-m", "tcuq.cli", "fleet", "ingest",
                    "--database", self.postgres.url,
                    "--broker", f"mqtts://127.0.0.1:{self.broker.port}", "--ca", str(pem.ca),
                    "--certificate", str(pem.certificate), "--key", str(pem.key),
                ],
                stdout=log, stderr=log,
            )  # fmt: skip
        for device, site in ((ATTACKER, "home"), (VICTIM, "away")):
            self._first_record(device, site)
        return self

    def __exit__(self, *_: object) -> None:
        if self._worker is not None:
            self._worker.terminate()
            self._worker.wait()
        self.broker.stop()
        self.postgres.stop("immediate")

    def _first_record(self, device: int, site: str) -> None:
        with HonestDevice(self.target, device, site) as one:
            end = time.monotonic() + 60
            while one.send() >= LOST_S:
                if time.monotonic() > end:
                    raise FleetError(f"no record is stored: see {self._folder / 'worker.log'}")

    def rows(self) -> dict[str, int]:
        """Return the number of rows of each table that an attacker may try to fill."""
        with psycopg.connect(self.postgres.url) as connection:
            counts = [connection.execute(f"SELECT count(*) FROM {t}").fetchone() for t in TABLES]  # noqa: S608
        return {name: int(row[0]) for name, row in zip(TABLES, counts, strict=True) if row}

    def broker_bytes(self) -> int:
        """Return the broker's resident memory."""
        status = Path(f"/proc/{self.broker.pid}/status").read_text("ascii")
        return 1024 * int(status.split("VmRSS:")[1].split()[0])


class HonestDevice:
    """A device with its own certificate that sends records and waits for each acknowledgement."""

    def __init__(self, target: Target, device: int, site: str = "honest") -> None:
        self._device, name = device, device_name(device)
        self._topic = f"tcuq/{site}/{name}/record"
        self._client = MqttClient(target.address(name), [f"tcuq/{site}/{name}/stored"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.__exit__()

    def send(self) -> float:
        """Send a newer record; return the seconds until its acknowledgement."""
        sequence = next(SEQUENCES)
        payload = record_of(self._device, sequence).tobytes()
        began = time.monotonic()
        self._client.acknowledge([], encode_publish(self._topic, payload, 1))
        while (took := time.monotonic() - began) < LOST_S:
            for message in self._client.receive(LOST_S - took):
                if np.frombuffer(message.payload, ACK)["sequence"].max() >= sequence:
                    return time.monotonic() - began
        return LOST_S


class Witness:
    """Honest devices that send while the block runs; the broker's memory beside them."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.seconds: list[float] = []
        self.broker_bytes: list[int] = []
        self._stopping = threading.Event()
        self._devices = [self._device() for _ in range(HONEST)]
        self._threads = [
            threading.Thread(target=self._watch_broker),
            *(threading.Thread(target=self._send, args=(device,)) for device in self._devices),
        ]
        self._failures: list[FleetError] = []

    def __enter__(self) -> Self:
        for device in self._devices:
            device.send()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        for device in self._devices:
            device.__exit__()
        if self._failures:
            raise self._failures[0]

    def _device(self) -> HonestDevice:
        device = next(DEVICES)
        self._scene.authority.issue(device_name(device))
        return HonestDevice(self._scene.target, device)

    def _send(self, device: HonestDevice) -> None:
        for _ in range(MAX_SENDS):
            if self._stopping.wait(PAUSE_S):
                return
            try:
                self.seconds.append(device.send())
            except FleetError as error:
                self._failures.append(error)
                return

    def _watch_broker(self) -> None:
        while not self._stopping.wait(PAUSE_S):
            self.broker_bytes.append(self._scene.broker_bytes())
