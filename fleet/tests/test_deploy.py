# SPDX-License-Identifier: Apache-2.0
"""The files of deploy/: units, compose file and manifests, as far as they can be checked here."""

import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from fleet.tests.fixtures.sender import wait_for
from tcuq_fleet.servers import free_port, is_listening

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


def test_the_pages_certificates_open_the_pages_broker(tmp_path: Path) -> None:
    """A worker with its certificate connects to mosquitto, both as the page types them."""
    page = (DEPLOY.parent / "docs/operate.md").read_text("utf-8")
    (typed,) = re.findall(r"^```console\n(# install.*?)^```", page, re.MULTILINE | re.DOTALL)
    (conf,) = re.findall(r"^```\n(listener.*?)^```", page, re.MULTILINE | re.DOTALL)
    tmp_path.chmod(0o755)
    commands = re.sub(r"^# ", "", typed, flags=re.MULTILINE)
    commands = re.sub(r"chown \w+", "test -f", commands)
    subprocess.run(
        ["bash", "-euc", commands.replace("/etc/tcuq", str(tmp_path))],
        check=True, capture_output=True,
    )  # fmt: skip
    port, certificates = free_port(), tmp_path / "certificates"
    (tmp_path / "acl").write_bytes((files("tcuq_fleet") / "acl").read_bytes())
    (tmp_path / "conf").write_text(
        conf.replace("/etc/tcuq", str(tmp_path)).replace("8883", f"{port} 127.0.0.1")
        + "user root\n",
        "utf-8",
    )
    with subprocess.Popen(["mosquitto", "-c", str(tmp_path / "conf")]) as broker:
        try:
            wait_for(lambda: is_listening(port))
            client = Client(CallbackAPIVersion.VERSION2)
            key = str(certificates / "ingest.key")
            client.tls_set(str(certificates / "ca.pem"), str(certificates / "ingest.pem"), key)
            client.connect("localhost", port)
            wait_for(lambda: client.loop() == 0 and client.is_connected())
            client.disconnect()
        finally:
            broker.terminate()
