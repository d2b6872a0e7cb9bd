# SPDX-License-Identifier: Apache-2.0
"""An evaluation as lines of text and as JSON values."""

import math
from collections.abc import Iterator
from typing import Any

from tcuq.evaluate.evaluation import Evaluation, Measure


def lines(evaluation: Evaluation) -> Iterator[str]:
    """A header and one line a measure."""
    yield f"{'measure':<34} {'value':>9}  {'95 % interval':<21} dummies"
    for measure in evaluation.measures:
        interval = ""
        if math.isfinite(measure.low):
            interval = f"{short(measure.low)} to {short(measure.high)}"
        dummies = ", ".join(f"{name} {short(v)}" for name, v in measure.dummies.items())
        note = f"  ({measure.note})" if measure.note else ""
        yield f"{measure.name:<34} {short(measure.value):>9}  {interval:<21} {dummies}{note}"


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """Measures by name, and the risk-coverage curve; what is not a finite number is null."""
    return {
        "measures": {measure.name: _measure_as_json(measure) for measure in evaluation.measures},
        "risk_coverage": [list(point) for point in evaluation.risk_coverage],
    }


def _measure_as_json(measure: Measure) -> dict[str, Any]:
    return {
        "value": _finite(measure.value),
        "interval": [_finite(measure.low), _finite(measure.high)],
        "dummies": {name: _finite(value) for name, value in measure.dummies.items()},
        "note": measure.note,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def short(value: float) -> str:
    """A number as a reader wants it: four digits, a dash for none."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
