# SPDX-License-Identifier: Apache-2.0
"""Evaluate: labelled streams to measures with intervals and dummies. Needs the extra `fit`."""

from importlib.util import find_spec

from tcuq.errors import MissingExtraError

if find_spec("sklearn") is None:
    raise MissingExtraError("scikit-learn", "fit")

from tcuq.evaluate.evaluation import Evaluation, Measure, evaluate, lives, run_serviced
from tcuq.evaluate.table import as_json, lines

__all__ = ["Evaluation", "Measure", "as_json", "evaluate", "lines", "lives", "run_serviced"]
