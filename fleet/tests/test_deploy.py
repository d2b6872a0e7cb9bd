# SPDX-License-Identifier: Apache-2.0
"""The files of deploy/: units, compose file and manifests, as far as they can be checked here."""

import re
import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from fleet.tests.fixtures.commands import parse
from fleet.tests.fixtures.sender import wait_for
from tcuq_fleet.cli.configuration import variable
from tcuq_fleet.servers import free_port, is_listening

DEPLOY = Path(__file__).parents[1] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = [
    path for path in sorted((DEPLOY / "kustomize").glob("*.yaml")) if "kustom" not in path.name
]
KUBERNETES = "1.30"


@pytest.fixture
def password(tmp_path: Path) -> Path:
    """Write a password file."""
    path = tmp_path / "password"
    path.write_text("secret\n", "utf-8")
    path.chmod(0o600)
    return path


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


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_a_units_command_and_configuration_are_accepted(unit: Path, password: Path) -> None:
    """The command line of a unit parses with the example configuration, with its own role."""
    (line,) = [
        line.removeprefix("ExecStart=")
        for line in unit.read_text("utf-8").splitlines()
        if line.startswith("ExecStart=")
    ]
    line = line.replace("/etc/tcuq/fleet.toml", str(DEPLOY / "systemd/fleet.toml"))
    line = line.replace("${CREDENTIALS_DIRECTORY}/password", str(password))
    _, _, command, *arguments = shlex.split(line)
    role = "owner" if command == "migrate" else command
    assert f"user=tcuq_{role}" in parse(command, *arguments).connection
    assert f"LoadCredential=password:/etc/tcuq/passwords/tcuq_{role}\n" in unit.read_text("utf-8")


def test_compose_names_existing_options_files_and_secrets() -> None:
    """Every variable is an option of its command, and every secret and mounted file is declared."""
    document = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text("utf-8"))
    services = document["services"]
    for name in ("migrate", "ingest", "judge", "serve"):
        service = services[name]
        command, *arguments = service["command"]
        known = {variable(name) for name in type(parse(command, *arguments)).model_fields}
        assert set(service["environment"]) <= known
        assert set(service["secrets"]) <= set(document["secrets"])
        assert (
            service["environment"][variable("database_password_file")].split("/")[-1]
            in (service["secrets"])
        )
    assert services["database"]["image"].startswith("docker.io/library/postgres:")
    assert services["broker"]["image"].startswith("docker.io/library/eclipse-mosquitto:")


def documents(path: Path) -> list[dict[str, Any]]:
    """Return the documents of a manifest."""
    return list(yaml.safe_load_all(path.read_text("utf-8")))


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_follows_the_apis_schema(path: Path) -> None:
    """Every document is valid by the schema of the Kubernetes API."""
    for document in documents(path):
        kubernetes_validate.validate(document, KUBERNETES, strict=True)


def test_the_kustomization_names_every_manifest_and_its_configuration(
    tmp_path: Path, password: Path
) -> None:
    """Resources are the files that exist, and each process accepts the shared configuration."""
    kustomization = yaml.safe_load((DEPLOY / "kustomize/kustomization.yaml").read_text("utf-8"))
    assert set(kustomization["resources"]) == {path.name for path in MANIFESTS}
    config = tmp_path / "fleet.toml"
    text = (DEPLOY / "kustomize/fleet.toml").read_text("utf-8")
    config.write_text(text.replace("/passwords/password", str(password)), "utf-8")
    for path in MANIFESTS:
        for document in documents(path):
            if document["kind"] in ("Deployment", "Job"):
                (container,) = document["spec"]["template"]["spec"]["containers"]
                command, *arguments = container["args"]
                arguments[1] = str(config)
                assert parse(command, *arguments).connection


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
