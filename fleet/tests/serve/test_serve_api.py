# SPDX-License-Identifier: Apache-2.0
"""The JSON API follows its own OpenAPI description."""

import subprocess
import sys
from pathlib import Path

import pytest

from fleet.tests.fixtures.dashboard_server import get, live
from fleet.tests.fixtures.seed import seed
from fleet.tests.fixtures.servers import new_database
from tcuq_fleet.servers import Postgres


def test_responses_follow_the_description(postgres: Postgres) -> None:
    """Schemathesis finds no server error and no undocumented response; it acts, too."""
    database = new_database(postgres, "fuzzed")
    seed(database, 2000)
    with live(database) as address:
        result = fuzz(address)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Tested: 15" in result.stdout


def fuzz(address: str) -> "subprocess.CompletedProcess[str]":
    """Run schemathesis on every route of the API."""
    return subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")), "run",
            f"{address}/openapi.json", "--max-examples", "20", "--generation-deterministic",
            "--phases", "examples,coverage,fuzzing", "--no-color",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_figures_agree_with_the_pages(address: str, suspect: str) -> None:
    """The fleet, its groups, its suspects and one device have the seeded figures."""
    fleet = get(f"{address}/api/fleet?level=0.01").json()
    looser = get(f"{address}/api/fleet").json()
    assert (fleet["devices"], fleet["level"], looser["level"]) == (20_000, 0.01, 0.05)
    profiles = get(f"{address}/api/profiles").json()
    assert sum(profile["devices"] for profile in profiles) == 20_000
    assert sum(profile["share"] for profile in profiles) == pytest.approx(1)
    assert 0 < fleet["different"] < looser["different"]
    assert 0 < fleet["changed"] == looser["changed"] < fleet["compared"]
    changed = get(f"{address}/api/changed").json()
    assert {row["change"] for row in changed} == {"its confidence fell"}
    moved = get(f"{address}/api/devices/{changed[0]['device']}").json()["change"]
    assert (moved["changed"], moved["past_epochs"]) == (True, 21)
    assert fleet["alarms"]["group"] == 1
    assert len(fleet["hours"]) == 24
    groups = get(f"{address}/api/groups").json()
    assert (groups[0]["firmware"], groups[0]["named"]) == ("1.8.0", True)
    by_device = get(f"{address}/api/accuracy/devices").json()
    accuracies = [row["estimated_accuracy"] for row in by_device]
    assert (len(accuracies), accuracies) == (50, sorted(accuracies))
    by_firmware = get(f"{address}/api/accuracy/firmware").json()
    assert by_firmware[0]["firmware"] == "1.8.0"
    assert sum(row["devices"] for row in by_firmware) < 20_000  # silent ones do not count
    first = get(f"{address}/api/suspects?firmware=1.8.0&page=1").json()
    assert len(first) == 50
    assert {row["firmware"] for row in first} == {"1.8.0"}
    device = get(f"{address}/api/devices/{suspect}").json()
    assert device["different"]
    assert len(device["epochs"]) == 46
    assert [epoch["closed"] for epoch in device["epochs"]].count(False) == 1
    assert get(f"{address}/api/devices/00000000000000ff").status_code == 404
