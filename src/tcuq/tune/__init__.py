# SPDX-License-Identifier: Apache-2.0
"""Tune: grid search over the options of a fit, within a device's limits. Needs the extra `fit`."""

from tcuq.tune.front import Limits
from tcuq.tune.grid import Grid
from tcuq.tune.search import TuneResult, pareto_chart, tune
from tcuq.tune.trial import Trial

__all__ = ["Grid", "Limits", "Trial", "TuneResult", "pareto_chart", "tune"]
