# SPDX-License-Identifier: Apache-2.0
"""The files of deploy/: every command line and configuration is accepted."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleet.tests.fixtures.commands import parse
from tcuq_fleet.cli.configuration import variable

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = [
    path for path in sorted((DEPLOY / "kustomize").glob("*.yaml")) if "kustom" not in path.name
]


@pytest.fixture
def password(tmp_path: Path) -> Path:
    """Write a password file."""
    path = tmp_path / "password"
    path.write_text("secret\n", "utf-8")
    path.chmod(0o600)
    return path


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
    assert f"user=tcuq_{role}" in parse(command, *arguments).databases[0]
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
                if container["image"] != "tcuq-fleet":
                    continue
                command, *arguments = container["args"]
                arguments[1] = str(config)
                assert parse(command, *arguments).databases[0]
