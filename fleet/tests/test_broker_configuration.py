# SPDX-License-Identifier: Apache-2.0
"""The broker's configuration as each deployment has it, run by a real mosquitto."""

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from fleet.tests.fixtures.attacks.attacks import (
    ATTACKER,
    VICTIM,
    Target,
    many_connections,
    record_of,
    retained_messages,
)
from fleet.tests.fixtures.attacks.certificate_authority import WORKER, CertificateAuthority
from fleet.tests.fixtures.proxy import Proxy
from fleet.tests.fixtures.sender import wait_for
from fleet.tests.fixtures.servers import local_broker
from tcuq_fleet.errors import FleetError
from tcuq_fleet.mqtt import BrokerAddress, Message, MqttClient, encode_publish
from tcuq_fleet.servers import Broker, free_port, is_listening, packaged
from tcuq_fleet.wire import MOUNT_POINT, device_name, shared_filters

DEPLOY = Path(__file__).parents[1] / "deploy"
RECORDS = 20
MAX_BYTES = 64 << 20  # of the broker; without limits 2,000 retained messages took 300 MB
FILES = ("broker_limits.conf", "broker_listeners.conf", "broker_acl")


def systemd() -> dict[str, str]:
    """Return the configuration of Debian's mosquitto: its own file includes this folder."""
    page = (DEPLOY.parent / "docs/operate.md").read_text("utf-8")
    copied = r"^# install -m 644 .*/(\w+\.conf) /etc/mosquitto/conf.d"
    installed = re.findall(copied, page, re.MULTILINE)
    return {"": "\n".join(packaged(name) for name in installed), "acl": packaged("broker_acl")}


def compose() -> dict[str, str]:
    """Return the configuration from the files that compose mounts."""
    document = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text("utf-8"))
    volumes = [volume.split(":") for volume in document["services"]["broker"]["volumes"]]
    return mounted({inside: DEPLOY / "compose" / outside for outside, inside, _ in volumes})


def kustomize() -> dict[str, str]:
    """Return the configuration from the files of the config map."""
    document = next(yaml.safe_load_all((DEPLOY / "kustomize/broker.yaml").read_text("utf-8")))
    (container,) = document["spec"]["template"]["spec"]["containers"]
    return mounted(
        {
            mount["mountPath"]: DEPLOY / "kustomize/broker" / mount["subPath"]
            for mount in container["volumeMounts"]
            if "subPath" in mount
        }
    )


def mounted(files: dict[str, Path]) -> dict[str, str]:
    """Return a configuration with the files of its `include_dir` in place."""
    text = files["/mosquitto/config/mosquitto.conf"].read_text("utf-8")
    included = [path for at, path in sorted(files.items()) if "/conf.d/" in at]
    parts = "\n".join(path.read_text("utf-8") for path in included)
    text = text.replace("include_dir /mosquitto/config/conf.d", parts)
    return {"": text, "acl": files["/etc/tcuq/broker_acl"].read_text("utf-8")}


@contextmanager
def running(
    files: dict[str, str], authority: CertificateAuthority, folder: Path
) -> Iterator[tuple[int, int, int]]:
    """Run mosquitto; return its process id and the ports for devices and for workers."""
    devices, workers = free_port(), free_port()
    authority.issue("broker")
    (folder / "acl").write_text(files["acl"], "utf-8")
    (folder / "acl").chmod(0o600)
    text = files[""].replace("/etc/tcuq/certificates", str(authority.folder))
    text = text.replace("/etc/tcuq/broker_acl", str(folder / "acl"))
    text = text.replace("listener 8883", f"listener {devices} 127.0.0.1")
    text = text.replace("listener 8884", f"listener {workers} 127.0.0.1")
    (folder / "conf").write_text(f"{text}\nuser root\n", "utf-8")
    with subprocess.Popen(["mosquitto", "-c", str(folder / "conf")]) as broker:
        try:
            wait_for(lambda: is_listening(workers))
            yield broker.pid, devices, workers
        finally:
            broker.terminate()


def resident_bytes(pid: int) -> int:
    """Return a process's resident memory."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return 1024 * int(status.split("VmRSS:")[1].split()[0])


@pytest.mark.parametrize("rendering", [systemd, compose, kustomize], ids=lambda one: one.__name__)
def test_a_deployments_broker_keeps_its_limits_and_rights(
    rendering: Callable[[], dict[str, str]], tmp_path: Path
) -> None:
    """Retained floods stay out, a device gets no other's records, and one connection."""
    authority = CertificateAuthority(tmp_path / "ca")
    for name in (device_name(ATTACKER), device_name(VICTIM), WORKER):
        authority.issue(name)
    with running(rendering(), authority, tmp_path) as (pid, devices, workers), ExitStack() as stack:
        target = Target(devices, authority.folder)
        retained_messages(target, 200)
        assert resident_bytes(pid) < MAX_BYTES
        with pytest.raises(FleetError, match=r"the broker is gone|no broker answers"):
            MqttClient(Target(workers, authority.folder).address(device_name(ATTACKER)), ["a"])
        worker_address = Target(workers, authority.folder).address(WORKER)
        worker = stack.enter_context(MqttClient(worker_address, shared_filters(MOUNT_POINT)))
        for filters in (shared_filters(), shared_filters(MOUNT_POINT), ("#",), ("$SYS/#",)):
            with MqttClient(target.address(device_name(ATTACKER)), filters) as thief:
                received = publish_records(target, worker)
                assert len(received) == RECORDS
                assert thief.receive(0.1) == []


def publish_records(target: Target, worker: MqttClient) -> list[Message]:
    """Publish records as the victim; return what the worker receives."""
    topic = f"tcuq/away/{device_name(VICTIM)}/record"
    payload = record_of(VICTIM).tobytes()
    received: list[Message] = []
    with MqttClient(target.address(device_name(VICTIM)), ()) as victim:
        victim.publish(b"".join(encode_publish(topic, payload, n + 1) for n in range(RECORDS)))
        wait_for(lambda: len(received.__iadd__(worker.receive(0.1))) >= RECORDS, 5)
    worker.acknowledge(received)
    return received


def test_a_certificate_has_one_connection(tmp_path: Path) -> None:
    """A client cannot take up the broker's connections, nor end another's by its client id."""
    authority = CertificateAuthority(tmp_path / "ca")
    with authority.broker(tmp_path / "broker") as broker:
        target = Target(broker.port, authority.folder)
        for name in (device_name(ATTACKER), device_name(VICTIM)):
            authority.issue(name)
        address = target.address(device_name(VICTIM))
        with MqttClient(address, (), client_id=device_name(VICTIM)) as victim:
            for _ in range(3):
                named = device_name(VICTIM)
                with MqttClient(target.address(device_name(ATTACKER)), (), client_id=named):
                    pass
            assert victim.receive(0.2) == []
            many_connections(target, 5)
            sockets = [*Path(f"/proc/{broker.pid}/fd").iterdir()]
            assert len(sockets) < 20


def test_the_private_broker_of_up_has_the_same_limits(tmp_path: Path) -> None:
    """It keeps no retained message, and refuses a packet above the limit."""
    with Broker(tmp_path) as broker:
        for packet in (
            encode_publish("a", b"b", 1, retain=True),
            encode_publish("a", bytes(1 << 18), 1),
        ):
            assert ends_the_connection(local_broker(broker.port), packet)


def ends_the_connection(address: BrokerAddress, packet: bytes) -> bool:
    """Return whether the broker ends the connection of a client that sends a packet."""
    with MqttClient(address, ["a"]) as client:
        client.publish(packet)
        try:
            return not client.receive(5)
        except FleetError:
            return True


@pytest.mark.parametrize("name", FILES)
def test_kustomizes_copy_is_the_packages_file(name: str) -> None:
    """Kustomize reads no file outside its folder, so the copies must not differ."""
    copy = (DEPLOY / "kustomize/broker" / name).read_text("utf-8")
    assert copy == packaged(name)


def test_the_proxy_passes_certificates_and_slows_a_flood(tmp_path: Path) -> None:
    """Through nginx a device publishes under its certificate, some hundred records per second."""
    authority = CertificateAuthority(tmp_path / "ca")
    name, topic = device_name(ATTACKER), f"tcuq/home/{device_name(ATTACKER)}/record"
    authority.issue(name)
    with ExitStack() as stack:
        broker = stack.enter_context(authority.broker(tmp_path))
        proxy = stack.enter_context(Proxy(tmp_path, authority, broker.port))
        address = authority.worker_address(broker)
        worker = stack.enter_context(MqttClient(address, shared_filters(MOUNT_POINT)))
        client = MqttClient(Target(proxy.port, authority.folder).address(name), ())
        stack.enter_context(client).publish(encode_publish(topic, bytes(97), 1) * 1000)
        end, received = time.monotonic() + 2, 0
        while time.monotonic() < end:
            messages = worker.receive(0.1)
            worker.acknowledge(messages)
            received += len(messages)
        assert 100 < received < 500  # of 143 bytes each, at 16 kB/s
