# SPDX-License-Identifier: Apache-2.0
"""The compiled simulator of devices (src/simulator)."""

from importlib import import_module

# By name, because no import checker sees a compiled module. Types are in simulator.pyi.
Simulator = import_module("tcuq.fleet.simulate._simulator").Simulator
