# SPDX-License-Identifier: Apache-2.0
"""Evaluate: measures of a recorded stream, with confidence intervals and baselines.

Needs the extra `fit`.
"""

from importlib.util import find_spec

from tcuq.errors import MissingExtraError

if find_spec("sklearn") is None:
    raise MissingExtraError("scikit-learn", "tcuq[fit]")

from tcuq.evaluation.evaluation import Evaluation, as_json, evaluate, lines
from tcuq.evaluation.run import Measure
from tcuq.evaluation.selection import Comparison, Rival, compare

__all__ = [
    "Comparison",
    "Evaluation",
    "Measure",
    "Rival",
    "as_json",
    "compare",
    "evaluate",
    "lines",
]
