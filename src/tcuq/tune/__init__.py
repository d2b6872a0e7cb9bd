# SPDX-License-Identifier: Apache-2.0
"""Tune: a grid of options over one development stream, under a device's limits. Extra `fit`."""

from tcuq.tune.front import Limits
from tcuq.tune.grid import Grid
from tcuq.tune.pareto import pareto_chart
from tcuq.tune.trial import Trial
from tcuq.tune.tuning import Tuned, tune

__all__ = ["Grid", "Limits", "Trial", "Tuned", "pareto_chart", "tune"]
