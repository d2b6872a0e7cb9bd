# SPDX-License-Identifier: Apache-2.0
"""ESPHome's own tool validates the component; a broker holds what Home Assistant discovers."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tcuq.demo import demo_profile
from tcuq.firmware import export
from tests.fixtures.broker import Broker
from tests.fixtures.pages import ROOT, blocks

PAGES = "docs/howto/integrations"
ENVIRONMENT = ROOT / "build/esphome"
PINNED = ROOT / "constraints/esphome.txt"
DEVICE = """
esphome:
  name: keyword-sensor
esp32:
  board: esp32dev
  framework:
    type: esp-idf
mqtt:
  broker: 192.168.1.2
wifi:
  ssid: home
"""
DEFINES = ("#pragma once", *(f"#define {name}" for name in
           ("USE_HOST", "USE_SENSOR", "USE_BINARY_SENSOR", "ESPHOME_THREAD_SINGLE")))  # fmt: skip
SECONDS = 60
# As Home Assistant documents: the topic under its prefix, and the keys of a discovered entity.
TOPIC = re.compile(r"homeassistant/(sensor|binary_sensor)/([a-zA-Z0-9_-]+)/([a-zA-Z0-9_-]+)/config")
TEXT = {"type": "string", "minLength": 1}
ENTITY = {
    "type": "object",
    "required": ["name", "unique_id", "state_topic", "device", "origin"],
    "additionalProperties": False,
    "properties": {
        "name": TEXT,
        "unique_id": TEXT,
        "state_topic": {"type": "string", "pattern": "^[^#+]+$"},
        "value_template": {"type": "string", "pattern": r"^\{\{ .* \}\}$"},
        "unit_of_measurement": TEXT,
        "state_class": {"enum": ["measurement", "total", "total_increasing"]},
        "device_class": {"const": "problem"},
        "device": {
            "type": "object",
            "required": ["identifiers"],
            "properties": {"identifiers": {"type": "array", "items": TEXT, "minItems": 1}},
        },
        "origin": {"type": "object", "required": ["name"]},
    },
}


@pytest.fixture(scope="module")
def esphome() -> Path:
    """ESPHome in an environment of its own, kept from run to run while its pins are the same."""
    stamp = ENVIRONMENT / "pins"
    if not stamp.is_file() or stamp.read_bytes() != PINNED.read_bytes():
        uv = [sys.executable, "-m", "uv", "--quiet"]
        subprocess.run([*uv, "venv", "--clear", str(ENVIRONMENT)], check=True)
        install = ["pip", "install", "--python", str(ENVIRONMENT), "--require-hashes"]
        subprocess.run([*uv, *install, "-r", str(PINNED)], check=True)
        stamp.write_bytes(PINNED.read_bytes())
    return ENVIRONMENT


def test_esphome_accepts_the_component(esphome: Path, tmp_path: Path) -> None:
    """`esphome config` validates the page's files; the header fits ESPHome's own."""
    component = tmp_path / "components/tcuq"
    export(demo_profile(), tmp_path / "out", "c")
    (tmp_path / "out/src").rename(tmp_path / "components-src")
    component.parent.mkdir()
    (tmp_path / "components-src").rename(component)
    (python,), (header,), (yaml,) = (
        blocks(f"{PAGES}/esphome.md", language) for language in ("python", "cpp", "yaml")
    )
    (component / "__init__.py").write_text(python, "utf-8")
    (component / "tcuq_component.h").write_text(header, "utf-8")
    (tmp_path / "device.yaml").write_text(DEVICE + yaml, "utf-8")
    done = subprocess.run(
        [esphome / "bin/esphome", "config", "device.yaml"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Configuration is valid!" in done.stdout + done.stderr, done.stdout + done.stderr
    assert "estimated_accuracy:" in done.stdout
    (tmp_path / "esphome/core").mkdir(parents=True)
    (tmp_path / "esphome/core/defines.h").write_text("\n".join(DEFINES) + "\n", "utf-8")
    (packages,) = esphome.glob("lib/python*/site-packages")
    paths = [f"-I{tmp_path}", f"-isystem{packages}", f"-I{component}"]
    subprocess.run(
        ["g++", "-std=c++20", "-Wall", "-Werror", "-fsyntax-only", *paths, "-xc++",
         component / "tcuq_component.h", "-Wno-pragma-once-outside-header"],
        check=True,
    )  # fmt: skip


def test_home_assistant_discovers_the_entities(tmp_path: Path) -> None:
    """The page's script announces three entities and their states, all retained."""
    server, messages, complete = Broker(tmp_path), dict[str, Any](), threading.Event()

    def receive(_client: Any, _data: Any, message: Any) -> None:
        assert message.retain
        messages[message.topic] = json.loads(message.payload)
        if len(messages) == 4:
            complete.set()

    try:
        (script,) = blocks(f"{PAGES}/home-assistant.md", "python")
        environment = {**os.environ, "BROKER_PORT": str(server.port)}
        subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=SECONDS)
        client = paho.Client(CallbackAPIVersion.VERSION2)
        client.on_message = receive
        client.connect("127.0.0.1", server.port)
        client.subscribe("#", qos=1)
        client.loop_start()
        assert complete.wait(SECONDS)
        client.disconnect()
        client.loop_stop()
    finally:
        server.stop()
    states = {topic: value for topic, value in messages.items() if not topic.endswith("/config")}
    ((state_topic, state),) = states.items()
    assert 0 <= state["risk"] <= 100
    assert 0 <= state["estimated_accuracy"] <= 100
    assert state["alarm"] == "ON"  # the script's stream has a fault
    names = set()
    for topic in messages.keys() - states:
        match = TOPIC.fullmatch(topic)
        assert match, topic
        jsonschema.validate(messages[topic], ENTITY)
        assert messages[topic]["state_topic"] == state_topic
        assert f"value_json.{match[3]} " in messages[topic]["value_template"]
        names.add(match[3])
    assert names == state.keys() == {"risk", "estimated_accuracy", "alarm"}
