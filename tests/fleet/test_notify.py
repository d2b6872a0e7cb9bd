# SPDX-License-Identifier: Apache-2.0
"""Alarms reach a real HTTP server and Debian's Alertmanager, late rather than never."""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from field import Field

from tcuq.errors import InputError
from tcuq.fleet.judge import notify
from tcuq.fleet.judge.notify import Courier, Receiver, alertmanager, attempt, deliver, webhook
from tcuq.fleet.servers import free_port
from tcuq.fleet.store.tables import Store


class Hook:
    """A web server that keeps what it is sent, and fails as often as it is told to."""

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

            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?token=secret"


@pytest.fixture
def hook() -> Iterator[Hook]:
    """A webhook's server."""
    made = Hook()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture
def field(store: Store) -> Field:
    """A site of 300 devices at rest, and firmware 1.8 with 40 that drift."""
    made = Field(store)
    made.add(300, site=store.site("berlin"))
    made.add(40, bits=20, firmware=0x1080000, site=store.site("berlin"))
    return made


def until(what: Callable[[], object]) -> None:
    """Waits for it."""
    end = time.monotonic() + 20
    while not what():
        assert time.monotonic() < end, "it did not come true in 20 s"
        time.sleep(0.05)


def test_a_webhook_is_told_once_what_changed(field: Field, database: str, hook: Hook) -> None:
    """Opened, then nothing, then closed; with names that people use."""
    receiver = webhook(hook.url)
    assert not deliver(database, receiver)  # before the first judgement
    field.judge()
    assert deliver(database, receiver)
    (message,) = hook.received
    (alarm,) = message["alarms"]
    assert (alarm["kind"], alarm["state"], alarm["firmware"]) == ("group", "open", "1.8.0")
    assert message["text"] == "[open] firmware 1.8.0: drifted, 20 bits of evidence"
    field.judge()
    assert not deliver(database, receiver)
    field.close(range(301, 341), bits=0)
    field.judge()
    field.judge()
    assert deliver(database, receiver)
    assert hook.received[1]["text"] == "[closed] firmware 1.8.0: over"


def test_groups_come_first_and_many_devices_are_counted(
    field: Field, database: str, hook: Hook
) -> None:
    """A message stays readable whatever happens."""
    field.add(400, site=field.connection.execute("SELECT max(site) FROM sites").fetchone()[0])  # type: ignore[index]
    for site in range(2, 9):
        field.add(900, site=site)
        field.add(30, bits=30, site=site)
    field.judge()
    deliver(database, webhook(hook.url))
    message = hook.received[0]
    assert [alarm["kind"] for alarm in message["alarms"]] == ["group"] + ["device"] * 100
    assert message["more"] == {"device": 110}
    assert "and 110 more of kind device" in message["text"]


def test_what_failed_is_told_later(
    field: Field, database: str, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A courier tries again by itself, with longer waits; judging has long gone on."""
    monkeypatch.setattr(notify, "FIRST_WAIT_S", 0.01)
    courier = Courier(database, webhook(hook.url))
    courier.start()
    hook.failures = 4
    field.judge()
    courier.tell()
    until(lambda: hook.received)
    courier.stop()
    assert not courier.is_alive()
    assert len(hook.received) == 1
    assert hook.received[0]["alarms"][0]["kind"] == "group"


def test_a_receiver_that_is_away_is_told_by_the_next_process(
    field: Field, database: str, hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    """The store knows what it was not told; the log names it without its secret."""
    field.judge()
    hook.failures = 1
    assert not attempt(database, webhook(hook.url))
    assert "could not be told to 127.0.0.1 yet" in caplog.text
    assert "secret" not in caplog.text
    field.judge()
    assert attempt(database, webhook(hook.url))
    assert len(hook.received) == 1


def test_a_redirect_is_not_taken_for_an_answer(field: Field, database: str, hook: Hook) -> None:
    """The alarms would be lost on the way, as the body is not sent on."""
    field.judge()
    hook.failures, hook.failure = 1, 302
    assert not attempt(database, webhook(hook.url))
    assert attempt(database, webhook(hook.url))
    assert len(hook.received) == 1


@pytest.mark.parametrize("url", ["ftp://host", "host:9093", "http://", "file:///etc/passwd"])
def test_a_receiver_is_a_web_server(url: str) -> None:
    """Anything else is refused before judging starts."""
    with pytest.raises(InputError, match="a receiver must be http://host"):
        Receiver(url, lambda *_: None)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[str]:
    """Debian's Alertmanager."""
    config = tmp_path / "alertmanager.yml"
    config.write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n", "utf-8")
    url = f"http://127.0.0.1:{free_port()}"
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                "prometheus-alertmanager",
                f"--config.file={config}",
                f"--storage.path={tmp_path}",
                f"--web.listen-address={url.removeprefix('http://')}",
                "--cluster.listen-address=",
            ],
            stdout=log,
            stderr=log,
        )
    until(lambda: _ready(url))
    yield url
    process.terminate()
    process.wait()


def _ready(url: str) -> bool:
    try:
        with urlopen(f"{url}/-/ready", timeout=1) as answer:  # noqa: S310 - our own server
            return bool(answer.status == 200)
    except URLError:
        return False


def standing(url: str) -> set[tuple[str, ...]]:
    """What the Alertmanager has active: name, severity, and whom."""
    with urlopen(f"{url}/api/v2/alerts?active=true", timeout=5) as answer:  # noqa: S310 - as above
        found = [alert["labels"] for alert in json.load(answer)]
    keys = ("alertname", "severity", "device", "firmware", "site")
    return {tuple(labels[key] for key in keys if key in labels) for labels in found}


def test_alertmanager_shows_what_stands(field: Field, database: str, manager: str) -> None:
    """An alarm opens, escalates (and is not there twice), and ends; a silent device beside it."""
    receiver = alertmanager(manager, lasting_s=3600)
    (device,) = lone = field.add(1)
    field.hush(lone)
    seen = []
    for bits in (20, 20, 20, 0, 0):
        field.close(range(301, 341), bits=bits)
        field.judge()
        assert deliver(database, receiver)
        seen.append(standing(manager))
    silent = {("TcuqSilent", severity, f"{device:016x}") for severity in ("warning", "critical")}
    assert seen[0] - silent == {("TcuqDrift", "warning", "1.8.0")}
    assert seen[2] - silent == {("TcuqDrift", "critical", "1.8.0")}
    assert seen[3] - silent == {("TcuqDrift", "critical", "1.8.0")}
    assert seen[4] == {("TcuqSilent", "critical", f"{device:016x}")}


def test_an_alert_ends_if_its_judge_does(field: Field, database: str, manager: str) -> None:
    """Nothing heard for some judgements: the alert is not left standing for ever."""
    field.judge()
    deliver(database, alertmanager(manager, lasting_s=1))
    assert standing(manager) == {("TcuqDrift", "warning", "1.8.0")}
    until(lambda: not standing(manager))
