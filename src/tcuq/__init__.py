# SPDX-License-Identifier: Apache-2.0
"""tcuq tells when a tiny model should not be trusted.

On the microcontroller, in one pass, without labels, in a few hundred bytes.
"""

from typing import TYPE_CHECKING, Any

from tcuq._labels import OUT_OF_DISTRIBUTION
from tcuq.decision import Decision, Trace
from tcuq.errors import (
    CalibrationWarning,
    ExportError,
    FitError,
    FleetError,
    InputError,
    MissingExtraError,
    ProfileError,
    SnapshotError,
    StreamError,
    TcuqError,
)
from tcuq.health import Health, health
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.settings import AlarmFlag
from tcuq.stages.budget import Outcome
from tcuq.stream import Stream
from tcuq.version import __version__

if TYPE_CHECKING:
    from tcuq.calibrate import TermPlan, fit, fit_temperature

__all__ = [
    "OUT_OF_DISTRIBUTION",
    "AlarmFlag",
    "CalibrationWarning",
    "Decision",
    "ExportError",
    "FitError",
    "FleetError",
    "Health",
    "InputError",
    "MissingExtraError",
    "Monitor",
    "Outcome",
    "Profile",
    "ProfileError",
    "SnapshotError",
    "Stream",
    "StreamError",
    "TcuqError",
    "TermPlan",
    "Trace",
    "__version__",
    "fit",
    "fit_temperature",
    "health",
]

_NEED_SCIKIT_LEARN = frozenset({"TermPlan", "fit", "fit_temperature"})


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the module holds
    """Import the fit on first use: running a profile needs NumPy alone."""
    if name not in _NEED_SCIKIT_LEARN:
        raise AttributeError(f"module 'tcuq' has no attribute {name!r}")
    from tcuq import calibrate

    return getattr(calibrate, name)


def __dir__() -> list[str]:
    return __all__
