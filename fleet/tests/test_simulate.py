# SPDX-License-Identifier: Apache-2.0
"""Simulated devices send through a real broker and a real worker to the database."""

import json
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psycopg
import pytest

from fleet.measurements.faults import differences
from fleet.tests.fixtures.attacks.certificate_authority import CertificateAuthority
from fleet.tests.fixtures.sender import wait_for
from fleet.tests.fixtures.servers import fleet_command, running_worker, wait_until_connected
from tcuq.telemetry import COUNTERS
from tcuq_fleet.ingest.validation import Validator
from tcuq_fleet.mqtt import BrokerAddress, MqttClient
from tcuq_fleet.servers import Broker
from tcuq_fleet.simulate.devices import Devices, Plan
from tcuq_fleet.simulate.run import SimulationResult, simulate, write_truth
from tcuq_fleet.simulate.transport import TransportOptions
from tcuq_fleet.store.registry import Registry


def run(database: str, worker: BrokerAddress, devices: Devices, options: TransportOptions) -> int:
    """Simulate beside a worker; check that the database ends exact; return the records sent."""
    with running_worker(database, worker, Validator(quota=60_000)) as ingest:
        wait_until_connected(ingest)
        result: SimulationResult = simulate(devices, options, threading.Event())
    assert (result.waiting, result.refused) == (0, 0)
    return result.sent


def assert_exact(database: str, devices: Devices, folder: Path) -> None:
    """Check that the database holds exactly what the devices counted."""
    write_truth(devices, folder / "truth.npz")
    outcome = differences(database, folder / "truth.npz")
    assert (outcome["devices"], outcome["cohorts"], outcome["waiting"]) == (0, 0, 0)


@pytest.mark.parametrize("gateway", [None, "gateway-1"])
def test_all_is_stored_over_a_lossy_transport(
    gateway: str | None, database: str, broker_address: BrokerAddress, tmp_path: Path
) -> None:
    """Loss and duplication change nothing, for single records and for a gateway's batches."""
    options = TransportOptions(
        broker=broker_address, gateway=gateway, loss=0.1, duplication=0.1, hour_s=0.5, batch=50
    )
    first_s, longest_s = options.simulated_s(0.3), options.simulated_s(1)
    devices = Devices(
        Plan(devices=300, hours=6, reboot=0.2, steps=10, resend_s=first_s, longest_s=longest_s)
    )
    with psycopg.connect(database, autocommit=True) as connection:
        Registry(connection).add_gateway("gateway-1", devices.site_names)
    assert run(database, broker_address, devices, options) > 6 * 300 * 1.05
    assert_exact(database, devices, tmp_path)


def test_a_broker_crash_loses_nothing(
    database: str, broker: Broker, broker_address: BrokerAddress, tmp_path: Path
) -> None:
    """Devices resend what a killed broker lost."""
    options = TransportOptions(broker=broker_address, hour_s=1, resend_s=0.3, longest_s=1)
    devices = Devices(
        Plan(devices=200, hours=4, reboot=0.2, steps=10, resend_s=1000, longest_s=3600)
    )
    with ThreadPoolExecutor(1) as executor:  # the broker ends with the thread that started it
        simulation = executor.submit(run, database, broker_address, devices, options)
        time.sleep(1.5)
        broker.crash()
        time.sleep(0.5)
        broker.start()
        simulation.result()
    assert_exact(database, devices, tmp_path)


def test_mutual_tls(database: str, tmp_path: Path) -> None:
    """Records are stored with a certificate, and refused without one or with another CA."""
    authority = CertificateAuthority(tmp_path / "trusted")
    other = CertificateAuthority(tmp_path / "other")
    devices = Devices(Plan(devices=1, hours=1, steps=10))
    with authority.broker(tmp_path / "broker") as broker:
        own = authority.broker_address(broker.port, f"{int(devices.device[0]):016x}")
        worker = authority.worker_address(broker)
        run(database, worker, devices, TransportOptions(broker=own, hour_s=0.5))
        assert_exact(database, devices, tmp_path)
        client = ("--certificate", str(own.certificate), "--key", str(own.key))
        url = f"mqtts://127.0.0.1:{broker.port}"
        for options in (("--ca", str(authority.ca)), ("--ca", str(other.ca), *client)):
            failed = subprocess.run(
                fleet_command("simulate", "--devices", "1", "--broker", url, *options),
                capture_output=True, text=True, check=False, timeout=60,
            )  # fmt: skip
            assert failed.returncode == 1
            assert "broker" in failed.stderr


def test_the_command_stops_on_sigterm(
    broker: Broker, broker_address: BrokerAddress, tmp_path: Path
) -> None:
    """SIGTERM ends the command, which writes the truth so far and the waiting records."""
    truth = tmp_path / "truth.npz"
    line = fleet_command(
        "simulate", "--devices", "50", "--drift", "10%", "--reboot", "0.1%", "--hour-s", "0.5",
        "--steps", "10", "--json", "--truth", str(truth),
        "--broker", f"mqtt://127.0.0.1:{broker.port}",
    )  # fmt: skip
    command = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    with MqttClient(broker_address, ["tcuq/+/+/record"]) as client:
        wait_for(lambda: client.receive(0.5), 60)
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
