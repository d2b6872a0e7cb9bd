# SPDX-License-Identifier: Apache-2.0
"""tcuq tells when a tiny model should not be trusted.

On the microcontroller, in one pass, without labels, in a few hundred bytes. Errors are in
`tcuq.errors`.
"""

from typing import TYPE_CHECKING

from tcuq import errors
from tcuq._columns import OUT_OF_DISTRIBUTION
from tcuq.decision import Decision, Trace
from tcuq.health import Health, health
from tcuq.monitor import Monitor
from tcuq.options import AlarmOptions, PaperOptions, PromiseOptions, TermPlan
from tcuq.profile import Profile
from tcuq.profile.settings import AlarmFlag
from tcuq.stages.budget import Outcome
from tcuq.stream import Stream
from tcuq.version import __version__

if TYPE_CHECKING:
    from tcuq.calibrate import fit, fit_temperature
    from tcuq.demo import demo_stream
    from tcuq.evaluation import evaluate
    from tcuq.firmware import export
    from tcuq.reports import report
    from tcuq.tap import record
else:
    # Running a profile needs NumPy alone; the rest is imported on first use.
    _MODULES = {
        "demo_stream": "demo",
        "evaluate": "evaluation",
        "export": "firmware",
        "fit": "calibrate",
        "fit_temperature": "calibrate",
        "record": "tap",
        "report": "reports",
    }

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module 'tcuq' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"tcuq.{_MODULES[name]}"), name)


__all__ = [
    "OUT_OF_DISTRIBUTION",
    "AlarmFlag",
    "AlarmOptions",
    "Decision",
    "Health",
    "Monitor",
    "Outcome",
    "PaperOptions",
    "Profile",
    "PromiseOptions",
    "Stream",
    "TermPlan",
    "Trace",
    "__version__",
    "demo_stream",
    "errors",
    "evaluate",
    "export",
    "fit",
    "fit_temperature",
    "health",
    "record",
    "report",
]


def __dir__() -> list[str]:
    return __all__
