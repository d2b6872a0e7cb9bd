# SPDX-License-Identifier: Apache-2.0
"""Watch: run a monitor over steps as they arrive, and show its state on a terminal or a pipe."""

from tcuq.watch.mqtt import mqtt_lines
from tcuq.watch.sources import Step, parse_step, recorded_steps, serial_lines, steps_from
from tcuq.watch.tally import Tally
from tcuq.watch.view import Screen, events, panel

__all__ = [
    "Screen",
    "Step",
    "Tally",
    "events",
    "mqtt_lines",
    "panel",
    "parse_step",
    "recorded_steps",
    "serial_lines",
    "steps_from",
]
