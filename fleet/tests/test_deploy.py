# SPDX-License-Identifier: Apache-2.0
"""The files of deploy/: units, compose file and manifests, as far as they can be checked here."""

import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from tcuq_fleet.errors import FleetError
from tcuq_fleet.mqtt import BrokerAddress, MqttClient
from tcuq_fleet.servers import Broker, Certificates
from tcuq_fleet.wire import MOUNT_POINT, shared_filters

DEPLOY = Path(__file__).parents[1] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = [
    path for path in sorted((DEPLOY / "kustomize").glob("*.yaml")) if "kustom" not in path.name
]
KUBERNETES = "1.30"


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_a_unit_passes_systemds_own_check(unit: Path, tmp_path: Path) -> None:
    """`systemd-analyze verify` finds nothing to say, with this Python in place of the program."""
    text = unit.read_text("utf-8").replace("/opt/tcuq/bin/tcuq", sys.executable)
    (tmp_path / unit.name).write_text(text, "utf-8")
    result = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / unit.name)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_follows_the_apis_schema(path: Path) -> None:
    """Every document is valid by the schema of the Kubernetes API."""
    for document in yaml.safe_load_all(path.read_text("utf-8")):
        kubernetes_validate.validate(document, KUBERNETES, strict=True)


def test_the_pages_certificates_open_the_workers_port(tmp_path: Path) -> None:
    """A worker with its certificate connects to mosquitto, both as the page types them."""
    page = (DEPLOY.parent / "docs/operate.md").read_text("utf-8")
    (typed,) = re.findall(r"^```console\n(# install -d.*?)^```", page, re.MULTILINE | re.DOTALL)
    tmp_path.chmod(0o755)
    commands = re.sub(r"^# ", "", typed, flags=re.MULTILINE)
    commands = re.sub(r"chown \w+", "test -f", commands)
    subprocess.run(
        ["bash", "-euc", commands.replace("/etc/tcuq", str(tmp_path))],
        check=True, capture_output=True,
    )  # fmt: skip
    pem = tmp_path / "certificates"
    certificates = Certificates(pem / "ca.pem", pem / "broker.pem", pem / "broker.key")
    broker = Broker(tmp_path, certificates=certificates, workers=pem / "workers.pem")
    for port, accepted in ((broker.workers_port, True), (broker.port, False)):
        own = str(pem / "ca.pem"), str(pem / "ingest.pem"), str(pem / "ingest.key")
        address = BrokerAddress("127.0.0.1", port, *own)
        with broker, nullcontext() if accepted else pytest.raises(FleetError):
            MqttClient(address, shared_filters(MOUNT_POINT)).__exit__()


def test_patroni_accepts_its_file_but_for_the_names_of_machines() -> None:
    """Its own check complains of the example's hosts, and of a key that is set after bootstrap."""
    done = subprocess.run(
        ["patroni", "--validate-config", str(DEPLOY / "patroni/patroni.yml")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    complaints = (done.stdout + done.stderr).splitlines()
    assert complaints
    expected = ("bootstrap.pg_hba", "etcd3.hosts")
    assert [line for line in complaints if not line.strip().startswith(expected)] == []
