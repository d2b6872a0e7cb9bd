# SPDX-License-Identifier: Apache-2.0
"""`fleet migrate --profile`: the fleet learns the names of a profile's health statistics."""

from dataclasses import replace
from pathlib import Path

import tcuq
from tcuq.cli import main
from tcuq.profile.settings import HealthSettings
from tcuq.telemetry import decode
from tcuq_fleet.store.store import Store

NAMES = ("accelerometer level", "accelerometer roughness")


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
