# SPDX-License-Identifier: Apache-2.0
"""Alarms are delivered to a real HTTP server and to Alertmanager, with retries."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from fleet.tests.fixtures.sender import wait_for
from fleet.tests.fixtures.servers import running_process
from fleet.tests.fixtures.stored_fleet import StoredFleet
from tcuq_fleet.judge import notify
from tcuq_fleet.judge.notify import Notifier, Receiver, alertmanager, attempt, deliver, webhook
from tcuq_fleet.servers import free_port, is_listening
from tcuq_fleet.store.registry import Registry
from tcuq_fleet.store.store import Store


class Hook:
    """A web server that stores what it receives, and fails a given number of times."""

    def __init__(self) -> None:
        self.received: list[Any] = []
        self.failures, self.failure = 0, 503
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                failing, hook.failures = hook.failures > 0, hook.failures - 1
                if not failing:
                    hook.received.append(body)
                self.send_response(hook.failure if failing else 200)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:  # where a followed redirect would end
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?token=secret"


@pytest.fixture
def hook() -> Iterator[Hook]:
    """Start a webhook's server."""
    webhook_server = Hook()
    thread = threading.Thread(target=webhook_server.server.serve_forever)
    thread.start()
    yield webhook_server
    webhook_server.server.shutdown()
    thread.join()
    webhook_server.server.server_close()


@pytest.fixture
def fleet(fleet: StoredFleet, store: Store) -> StoredFleet:
    """Store a site of 300 devices without drift, and 40 drifting devices of firmware 1.8."""
    fleet.add(300, site=store.site("berlin"))
    fleet.add(40, bits=20, firmware=0x1080000, site=store.site("berlin"))
    return fleet


def test_a_webhook_receives_each_change_once(fleet: StoredFleet, database: str, hook: Hook) -> None:
    """An opened and a closed alarm are delivered once each, with readable names."""
    receiver = webhook(hook.url)
    assert not deliver(database, receiver)  # before the first judgement
    fleet.judge()
    assert deliver(database, receiver)
    (message,) = hook.received
    (alarm,) = message["alarms"]
    assert (alarm["kind"], alarm["state"], alarm["firmware"]) == ("group", "open", "1.8.0")
    assert message["text"] == "[ticket] firmware 1.8.0: unlike calibration, 20 bits of evidence"
    fleet.judge()
    assert not deliver(database, receiver)
    fleet.close_epoch(range(301, 341), bits=0)
    fleet.judge()
    fleet.judge()
    assert deliver(database, receiver)
    assert hook.received[1]["text"] == "[closed] firmware 1.8.0: over"


def test_a_devices_alarm_names_its_cause(fleet: StoredFleet, database: str, hook: Hook) -> None:
    """The cause is a number until the profile's names are registered, and then in its words."""
    fleet.add(1, bits=20, profile=-2, cause=0x15)
    fleet.connection.execute("UPDATE devices SET change = 24")
    fleet.judge()
    deliver(database, webhook(hook.url))
    Registry(fleet.connection).register_profile(2**32 - 2, ["level", "accelerometer roughness"])
    deliver(database, Receiver(hook.url + "/again", webhook(hook.url).body))
    causes = [
        alarm["cause"]
        for message in hook.received
        for alarm in message["alarms"]
        if alarm["kind"] == "device"
    ]
    assert causes == ["input health: statistic 2", "input health: accelerometer roughness"]
    sentence = "The accelerometer is noisier: its roughness rose to 8 times."
    assert hook.received[1]["text"].endswith(f"bits of evidence. {sentence}")


def test_alerts_carry_site_owner_firmware_and_link(
    fleet: StoredFleet, database: str, hook: Hook
) -> None:
    """A device's alarm names where it is, whose it is, what it runs and its page."""
    fleet.connection.execute("INSERT INTO owners (name) VALUES ('north')")
    fleet.connection.execute("UPDATE sites SET owner = 1")
    (device,) = lone = fleet.add(1, firmware=0x1020003)
    fleet.connection.execute("INSERT INTO registry (device, name) VALUES (%s, 'pump 7')", [device])
    fleet.silence(lone)
    fleet.judge()
    dashboard = "https://fleet.example.com/"
    deliver(database, webhook(hook.url, dashboard))
    (alarm,) = (alarm for alarm in hook.received[0]["alarms"] if alarm["kind"] == "silent")
    link = f"https://fleet.example.com/device/{device:016x}"
    keys = ("site", "owner", "name", "firmware", "severity", "link")
    assert [alarm[key] for key in keys] == ["berlin", "north", "pump 7", "1.2.3", "warning", link]
    assert link in hook.received[0]["text"]
    assert "https://fleet.example.com/group?firmware=1.8.0" in hook.received[0]["text"]
    manager = Receiver(hook.url + "/m", alertmanager("http://host", 60, dashboard).body)
    deliver(database, manager)
    (alert,) = (a for a in hook.received[1] if a["labels"]["alertname"] == "TcuqSilent")
    assert (alert["labels"]["owner"], alert["labels"]["site"]) == ("north", "berlin")
    assert alert["generatorURL"] == alert["annotations"]["link"] == link
    assert alert["annotations"]["firmware"] == "1.2.3"


def test_muted_and_acknowledged_alarms_are_not_sent(
    fleet: StoredFleet, database: str, hook: Hook
) -> None:
    """A muted alarm waits for the end of the mute, an acknowledged one for its escalation."""
    (device,) = lone = fleet.add(1)
    fleet.silence(lone)
    fleet.connection.execute(
        "INSERT INTO registry (device, muted_until) VALUES (%s, now() + interval '1 h')", [device]
    )
    fleet.judge()
    fleet.connection.execute("UPDATE alarms SET acknowledged = now() WHERE kind = 'group'")
    assert not deliver(database, webhook(hook.url))
    fleet.connection.execute("UPDATE registry SET muted_until = now()")
    for _ in range(2):
        fleet.close_epoch(range(301, 341), bits=20)
        fleet.judge()
        deliver(database, webhook(hook.url))
    kinds = [[alarm["kind"] for alarm in message["alarms"]] for message in hook.received]
    assert kinds == [["silent"], ["group", "silent"]]
    assert [a["severity"] for a in hook.received[1]["alarms"]] == ["ticket", "critical"]


def test_groups_come_first_and_many_devices_are_counted(
    fleet: StoredFleet, database: str, hook: Hook
) -> None:
    """A message lists all groups and 100 devices, and counts the rest."""
    fleet.add(400, site=fleet.connection.execute("SELECT max(site) FROM sites").fetchone()[0])  # type: ignore[index]
    for site in range(2, 9):
        fleet.add(900, site=site)
        fleet.add(30, bits=30, site=site)
    fleet.judge()
    deliver(database, webhook(hook.url))
    message = hook.received[0]
    assert [alarm["kind"] for alarm in message["alarms"]] == ["group"] + ["device"] * 100
    assert message["more"] == {"device": 110}
    assert "and 110 more of kind device" in message["text"]


def test_a_failed_delivery_is_retried(
    fleet: StoredFleet, database: str, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notifier retries with backoff until the message is delivered once."""
    monkeypatch.setattr(notify, "FIRST_BACKOFF_S", 0.01)
    notifier = Notifier(database, webhook(hook.url))
    notifier.start()
    hook.failures = 4
    fleet.judge()
    notifier.notify()
    wait_for(lambda: hook.received)
    notifier.stop()
    assert not notifier.is_alive()
    assert len(hook.received) == 1
    assert hook.received[0]["alarms"][0]["kind"] == "group"


def test_a_failed_delivery_is_repeated_by_another_process(
    fleet: StoredFleet, database: str, hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    """The next attempt delivers what failed; the log names the host without its secret."""
    fleet.judge()
    hook.failures = 1
    assert not attempt(database, webhook(hook.url))
    assert "could not be delivered to 127.0.0.1 yet" in caplog.text
    assert "secret" not in caplog.text
    fleet.judge()
    assert attempt(database, webhook(hook.url))
    assert len(hook.received) == 1


def test_a_redirect_is_a_failed_delivery(fleet: StoredFleet, database: str, hook: Hook) -> None:
    """A redirected POST would lose its body, so the alarms are delivered again."""
    fleet.judge()
    hook.failures, hook.failure = 1, 302
    assert not attempt(database, webhook(hook.url))
    assert attempt(database, webhook(hook.url))
    assert len(hook.received) == 1


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[str]:
    """Start Alertmanager; return its URL."""
    config, port = tmp_path / "alertmanager.yml", free_port()
    config.write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n", "utf-8")
    line = [
        "prometheus-alertmanager", f"--config.file={config}", f"--storage.path={tmp_path}",
        f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=",
    ]  # fmt: skip
    with running_process(line, tmp_path / "log"):
        wait_for(lambda: is_listening(port))
        yield f"http://127.0.0.1:{port}"


def active_alerts(url: str) -> set[tuple[str, ...]]:
    """Return name, severity and subject of Alertmanager's active alerts."""
    alerts = [alert["labels"] for alert in httpx.get(f"{url}/api/v2/alerts?active=true").json()]
    keys = ("alertname", "severity", "device", "firmware", "site")
    return {tuple(labels[key] for key in keys if key in labels) for labels in alerts}


def test_alertmanager_shows_active_alarms(fleet: StoredFleet, database: str, manager: str) -> None:
    """An alarm opens, escalates without a duplicate and ends, beside a silent device's."""
    receiver = alertmanager(manager, lasting_s=3600)
    (device,) = lone = fleet.add(1)
    fleet.silence(lone)
    history = []
    for bits in (20, 20, 20, 0, 0):
        fleet.close_epoch(range(301, 341), bits=bits)
        fleet.judge()
        assert deliver(database, receiver)
        history.append(active_alerts(manager))
    silent = {
        ("TcuqSilent", severity, f"{device:016x}", "berlin") for severity in ("warning", "critical")
    }
    for active in history[:4]:
        assert active - silent == {("TcuqDifferent", "ticket", "1.8.0")}
    assert history[4] == {("TcuqSilent", "critical", f"{device:016x}", "berlin")}


def test_an_alert_expires_without_a_judge(fleet: StoredFleet, database: str, manager: str) -> None:
    """An alert that no judgement repeats expires."""
    fleet.judge()
    deliver(database, alertmanager(manager, lasting_s=1))
    assert active_alerts(manager) == {("TcuqDifferent", "ticket", "1.8.0")}
    wait_for(lambda: not active_alerts(manager))
