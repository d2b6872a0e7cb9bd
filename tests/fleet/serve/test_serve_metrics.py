# SPDX-License-Identifier: Apache-2.0
"""What Prometheus, its rules and Grafana are given, judged by promtool."""

import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from tools.measurements.dashboard_server import get

ROOM = files("tcuq.fleet.serve")
TESTS = Path(__file__).with_name("alerts_test.yml")


def promtool(*arguments: str, folder: Path | None = None, given: str = "") -> str:
    """Runs Debian's promtool; its complaints fail the test."""
    done = subprocess.run(
        ["promtool", *arguments], cwd=folder, input=given, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def names(text: str) -> set[str]:
    """Metrics that an expression reads."""
    return set(re.findall(r"\btcuq_fleet_\w+", text))


@pytest.fixture(scope="module")
def scraped(address: str) -> str:
    """After a page was looked at."""
    get(address)
    return get(f"{address}/metrics").text


def test_metrics_are_what_prometheus_reads(address: str, scraped: str) -> None:
    """No complaint of promtool's linter; OpenMetrics when asked for."""
    assert promtool("check", "metrics", given=scraped) == ""
    asked = {"Accept": "application/openmetrics-text; version=1.0.0"}
    answer = get(f"{address}/metrics", asked)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")
    assert 'tcuq_fleet_devices{state="all"} 20000.0' in answer.text
    assert "tcuq_fleet_drifted_groups 1.0" in answer.text
    assert 'tcuq_fleet_alarms{kind="group",state="escalated"} 1.0' in answer.text


def test_rules_hold_and_fire_when_they_should(tmp_path: Path) -> None:
    """A calm fleet, a broken one, and one compared with yesterday; every rule is in them."""
    shutil.copy(str(ROOM / "alerts.yml"), tmp_path / "alerts.yml")
    shutil.copy(TESTS, tmp_path / "alerts_test.yml")
    assert "SUCCESS" in promtool("check", "rules", "alerts.yml", folder=tmp_path)
    assert "SUCCESS" in promtool("test", "rules", "alerts_test.yml", folder=tmp_path)
    rules = yaml.safe_load((ROOM / "alerts.yml").read_text("utf-8"))["groups"][0]["rules"]
    tested = TESTS.read_text("utf-8")
    assert all(f"alertname: {rule['alert']}\n" in tested for rule in rules)


def test_rules_and_grafana_read_metrics_that_are_there(scraped: str, tmp_path: Path) -> None:
    """Every expression parses and names only what /metrics gives."""
    panels = json.loads((ROOM / "grafana.json").read_text("utf-8"))["panels"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    rules = yaml.safe_load((ROOM / "alerts.yml").read_text("utf-8"))["groups"][0]["rules"]
    given = names(scraped)
    for expression in [*asked, *(rule["expr"] for rule in rules)]:
        assert names(expression) <= given, expression
    recorded = [{"record": f"panel:{i}", "expr": expr} for i, expr in enumerate(asked)]
    text = yaml.safe_dump({"groups": [{"name": "panels", "rules": recorded}]})
    (tmp_path / "panels.yml").write_text(text, "utf-8")
    promtool("check", "rules", "panels.yml", folder=tmp_path)
    places = [tuple(panel["gridPos"].values()) for panel in panels]
    assert len(set(places)) == len({panel["id"] for panel in panels}) == len(panels)
