# SPDX-License-Identifier: Apache-2.0
"""Metrics, alert rules and the Grafana dashboard, checked by promtool."""

import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleet.tests.fixtures.dashboard_server import get
from tcuq_fleet.judge.alerts import NAMES, TICKET_NAME

PACKAGE = files("tcuq_fleet.serve")
TESTS = Path(__file__).with_name("alerts_test.yml")


def promtool(*arguments: str, folder: Path | None = None, stdin: str = "") -> str:
    """Run promtool; return its output, and fail on an error."""
    result = subprocess.run(
        ["promtool", *arguments], cwd=folder, input=stdin, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


def rules() -> list[dict[str, Any]]:
    """Return the alert rules of the package."""
    (group,) = yaml.safe_load((PACKAGE / "alerts.yml").read_text("utf-8"))["groups"]
    return list(group["rules"])


def panels() -> list[dict[str, Any]]:
    """Return the panels of the Grafana dashboard."""
    return list(json.loads((PACKAGE / "grafana.json").read_text("utf-8"))["panels"])


def names(text: str) -> set[str]:
    """Return the metrics that an expression reads."""
    return set(re.findall(r"\btcuq_fleet_\w+", text))


@pytest.fixture(scope="module")
def scraped(address: str) -> str:
    """Return the metrics after a page was viewed."""
    get(address)
    return get(f"{address}/metrics").text


def test_metrics_pass_promtool_and_are_openmetrics(address: str, scraped: str) -> None:
    """Promtool's linter accepts the metrics, and OpenMetrics is served on request."""
    assert promtool("check", "metrics", stdin=scraped) == ""
    headers = {"Accept": "application/openmetrics-text; version=1.0.0"}
    response = get(f"{address}/metrics", headers)
    assert response.headers["content-type"].startswith("application/openmetrics-text")
    assert response.text.endswith("# EOF\n")
    assert 'tcuq_fleet_devices{state="all"} 20000.0' in response.text
    assert "tcuq_fleet_different_groups 1.0" in response.text
    assert 'tcuq_fleet_alarms{kind="group",severity="ticket"} 1.0' in response.text


def test_alert_rules_fire_as_tested(tmp_path: Path) -> None:
    """Promtool's rule tests pass, and they cover every rule."""
    shutil.copy(str(PACKAGE / "alerts.yml"), tmp_path / "alerts.yml")
    shutil.copy(TESTS, tmp_path / "alerts_test.yml")
    assert "SUCCESS" in promtool("check", "rules", "alerts.yml", folder=tmp_path)
    assert "SUCCESS" in promtool("test", "rules", "alerts_test.yml", folder=tmp_path)
    tested = TESTS.read_text("utf-8")
    assert all(f"alertname: {rule['alert']}\n" in tested for rule in rules())


def test_every_alert_links_a_section_of_the_runbook(address: str) -> None:
    """Prometheus' alerts and the judge's own link sections that the dashboard serves."""
    anchors = set(re.findall(r'id="(Tcuq\w+)"', get(f"{address}/runbook").text))
    base = "{{ $externalLabels.tcuq_dashboard }}/runbook#"
    own = {*NAMES.values(), TICKET_NAME}
    for rule in rules():
        assert rule["annotations"]["runbook_url"] == base + rule["alert"]
    assert anchors == own | {rule["alert"] for rule in rules()}


def test_every_objective_has_a_metric_an_alert_and_a_panel(address: str, scraped: str) -> None:
    """The runbook's table of objectives names an exported metric, an alert on it and a panel."""
    objectives = re.findall(
        r"<tr><td>.*?<code>(\w+)</code>.*?#(\w+)\".*?<td>([^<]*)</td></tr>",
        get(f"{address}/runbook").text,
    )
    assert len(objectives) > 1
    titles = {panel["title"] for panel in panels()}
    expressions = {rule["alert"]: rule["expr"] for rule in rules()}
    for metric, alert, panel in objectives:
        assert metric in expressions[alert]
        assert panel in titles
        assert metric in scraped or not metric.startswith("tcuq_fleet")


def test_rules_and_grafana_read_existing_metrics(scraped: str, tmp_path: Path) -> None:
    """Every expression parses and names only exported metrics."""
    expressions = [target["expr"] for panel in panels() for target in panel["targets"]]
    exported = names(scraped)
    for expression in [*expressions, *(rule["expr"] for rule in rules())]:
        assert names(expression) <= exported, expression
        for process, name in re.findall(r"\btcuq_(ingest|judge)_(\w+?)(?:_total)?\b", expression):
            modules = files(f"tcuq_fleet.{process}").iterdir()
            source = "".join(m.read_text("utf-8") for m in modules if m.name.endswith(".py"))
            assert f'"tcuq_{process}_{name}"' in source, expression
    panel_rules = [{"record": f"panel:{i}", "expr": expr} for i, expr in enumerate(expressions)]
    text = yaml.safe_dump({"groups": [{"name": "panels", "rules": panel_rules}]})
    (tmp_path / "panels.yml").write_text(text, "utf-8")
    promtool("check", "rules", "panels.yml", folder=tmp_path)
    positions = [tuple(panel["gridPos"].values()) for panel in panels()]
    assert len(set(positions)) == len({panel["id"] for panel in panels()}) == len(panels())
