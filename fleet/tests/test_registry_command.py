# SPDX-License-Identifier: Apache-2.0
"""`tcuq fleet registry`: files of devices, decisions, gateways, errors; names of a profile."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import tcuq
from tcuq.cli import main
from tcuq.profile.settings import HealthSettings
from tcuq.telemetry import decode
from tcuq_fleet.store.store import Store

DEVICE = "00000000000000a1"
NAMES = ("accelerometer level", "accelerometer roughness")


def run(database: str, *arguments: str) -> int:
    """Run an act of the registry."""
    return main(["fleet", "registry", arguments[0], "--database", database, *arguments[1:]])


def test_devices_of_a_file_are_enrolled_and_decided_about(
    database: str, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are listed with site, name and state; sites and owners are created."""
    file = tmp_path / "pumps.csv"
    file.write_text(f"device,site,name,owner\n{DEVICE},berlin,Pump 1,acme\n", "utf-8")
    assert run(database, "enrol", str(file)) == 0
    assert run(database, "move", DEVICE, "paris") == 0
    assert run(database, "mute", DEVICE, "--days", "2", "--note", "repair") == 0
    assert run(database, "add-gateway", "gate-1", "--site", "berlin", "--owner", "acme") == 0
    capsys.readouterr()
    assert run(database, "list", "--json") == 0
    (listed,) = json.loads(capsys.readouterr().out)["devices"]
    assert listed["muted_until"] is not None
    assert (listed["device"], listed["site"], listed["name"]) == (DEVICE, "paris", "Pump 1")
    assert listed["state"] == "new"
    assert run(database, "retire", DEVICE) == 0
    assert run(database, "list") == 0
    assert "retired" in capsys.readouterr().out
    assert run(database, "remove-gateway", "gate-1") == 0
    assert store.connection.execute("SELECT name FROM owners").fetchall() == [("acme",)]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("device,place\n", "line 1 must name the columns"),
        ("device,site\n\n00000000000000A1,berlin\n", "line 3: device must be 16 digits"),
        (f"device,site\n{DEVICE},Berlin\n", "line 2: site must be 1 to 32"),
        (f"device,site\n{DEVICE},berlin\n{DEVICE},paris\n", "line 3: device .* twice"),
        (f"device,site\n{DEVICE},berlin,extra\n", "line 2 must have 2 values"),
        (f"device,site,name\n{DEVICE},berlin,{'x' * 201}\n", "line 2: name must be at most"),
    ],
)
def test_a_wrong_file_enrols_nothing(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, error: str
) -> None:
    """The error names the line, the rule and the value."""
    file = tmp_path / "pumps.csv"
    file.write_text(text, "utf-8")
    assert run(database, "enrol", str(file)) != 0
    with pytest.raises(AssertionError, match=error):
        raise AssertionError(capsys.readouterr().err)
    assert run(database, "list") == 0
    assert "lists no device" in capsys.readouterr().out


def test_unknown_devices_and_gateways_are_errors(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is created by a mistyped id."""
    for act in (["retire", DEVICE], ["release", DEVICE], ["mute", "a1"], ["remove-gateway", "g"]):
        assert run(database, *act) != 0
    errors = capsys.readouterr().err
    assert "neither stored nor enrolled" in errors
    assert "no record in quarantine" in errors
    assert "must be 16 digits" in errors
    assert "no gateway is named 'g'" in errors


def test_a_profiles_names_are_stored_under_its_records_number(
    profile: tcuq.Profile, store: Store, database: str, tmp_path: Path
) -> None:
    """The names can be found by the profile of a record, and registering again changes nothing."""
    health = HealthSettings(NAMES, (0.0, 1.0), (1.0, 2.0))
    named = replace(profile, signals=replace(profile.signals, health=health))
    named.save(tmp_path / "monitor.json")
    command = ["fleet", "migrate", "--database", database, "--profile"]
    for _ in range(2):
        assert main([*command, str(tmp_path / "monitor.json")]) == 0
    record = tcuq.Monitor(named).record(device=1, firmware=1, boot=0, sequence=0)
    number = int(decode(record).records["profile"][0])
    rows = store.connection.execute("SELECT profile, health_names FROM profiles").fetchall()
    assert [(profile % 2**32, names) for profile, names in rows] == [(number, list(NAMES))]
