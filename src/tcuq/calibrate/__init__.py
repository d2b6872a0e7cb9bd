# SPDX-License-Identifier: Apache-2.0
"""Calibrate: recorded streams to a profile. Needs the extra `fit` (scikit-learn)."""

from importlib.util import find_spec

from tcuq.errors import MissingExtraError

if find_spec("sklearn") is None:
    raise MissingExtraError("scikit-learn", "tcuq[fit]")

from tcuq.calibrate.fit import diagnose, fit
from tcuq.calibrate.temperature import fit_temperature

__all__ = ["diagnose", "fit", "fit_temperature"]
