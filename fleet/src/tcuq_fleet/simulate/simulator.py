# SPDX-License-Identifier: Apache-2.0
"""The compiled device simulator (fleet/src/simulator)."""

from importlib import import_module

# Imported by name, because import checkers do not see compiled modules; types are in simulator.pyi.
_simulator = import_module("tcuq_fleet.simulate._simulator")
Simulator = _simulator.Simulator
epoch_evidence = _simulator.epoch_evidence
