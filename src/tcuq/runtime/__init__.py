# SPDX-License-Identifier: Apache-2.0
"""The C runtime: what runs on the device, and the host's engine built from it."""

from importlib import import_module

# By name, because no import checker sees a compiled module. Types are in __init__.pyi.
_engine = import_module("tcuq.runtime._engine")
Engine = _engine.Engine
checksums = _engine.checksums
health = _engine.health
risk_odds_q10 = _engine.risk_odds_q10

__all__ = ["Engine", "checksums", "health", "risk_odds_q10"]
