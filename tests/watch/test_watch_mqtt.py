# SPDX-License-Identifier: Apache-2.0
"""`tcuq watch` on a real broker's topic."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from paho.mqtt import publish

import tcuq
from tcuq.cli import main
from tcuq.errors import InputError
from tcuq.watch import mqtt_lines

SECONDS = 60
# The command line, also where the tests themselves run in a shell's background, deaf to Ctrl-C.
INTERRUPTIBLE = """
import signal, sys
from tcuq.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(sys.argv[1:]))
"""


class Broker:
    """A mosquitto of our own on a free port of this machine; its log says what happens."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        config = folder / "mosquitto.conf"
        config.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\n")
        self.process = subprocess.Popen(
            [program, "-v", "-c", str(config)], stderr=subprocess.PIPE, text=True
        )
        self.wait_for(" running")

    def wait_for(self, text: str) -> None:
        """Until the log says so."""
        assert self.process.stderr is not None
        watchdog = threading.Timer(SECONDS, self.process.kill)
        watchdog.start()
        try:
            for line in self.process.stderr:
                if text in line:
                    return
        finally:
            watchdog.cancel()
        pytest.fail(f"the broker never said {text!r}")

    def stop(self) -> None:
        """By its own handle."""
        self.process.terminate()
        self.process.communicate()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker for one test."""
    server = Broker(tmp_path)
    yield server
    server.stop()


def test_a_topic(saved: str, test_stream: tcuq.Stream, broker: Broker) -> None:
    """Steps published one by one and several a message are decided on; Ctrl-C ends it well."""
    assert test_stream.features is not None
    lines = [
        " ".join(repr(float(value)) for value in [*posterior, *features])
        for posterior, features in zip(
            test_stream.posteriors[:30], test_stream.features[:30], strict=True
        )
    ]
    watch = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "watch", saved, "--json",
         f"mqtt://127.0.0.1:{broker.port}/field/7"],
        stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    broker.wait_for("Sending SUBACK")
    messages = [*lines[:20], "\n".join(lines[20:])]
    publish.multiple(
        [("field/7", message, 1, False) for message in messages],
        hostname="127.0.0.1",
        port=broker.port,
    )
    for _ in messages:
        broker.wait_for("Received PUBACK")
    time.sleep(1)  # what was received is decided on
    watch.send_signal(signal.SIGINT)
    output, _ = watch.communicate(timeout=SECONDS)
    assert watch.returncode == 0
    assert json.loads(output)["steps"] == 30


def test_no_broker(saved: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A port where nobody listens is an error that names the host."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    assert main(["watch", saved, f"mqtt://127.0.0.1:{port}/x"]) == 1
    assert "127.0.0.1: no broker answers" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["mqtt://host", "mqtt:///topic", "mqtt://host:x/t", "http://h/t"])
def test_what_is_no_topic(url: str) -> None:
    """A URL without a host, a port that is none, another scheme."""
    with pytest.raises(InputError):
        next(mqtt_lines(url))
