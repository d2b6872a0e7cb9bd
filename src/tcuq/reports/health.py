# SPDX-License-Identifier: Apache-2.0
"""Input health on the page: each statistic of the samples, beside calibration's."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from tcuq.charts.markup import Child
from tcuq.profile.settings import HealthSettings
from tcuq.reports.tables import table
from tcuq.reports.view import View

Floats = NDArray[np.float64]
Group = tuple[str, str, NDArray[np.bool_]]  # class of its marks, name, steps


def health_table(view: View, groups: Sequence[Group]) -> Element:
    """Return mean and standard deviation of each statistic, in calibration and in each group."""
    reference, values = view.profile.signals.health, view.stream.health
    assert reference is not None  # noqa: S101 - the caller has health; for the type checker
    assert values is not None  # noqa: S101
    rows = [
        _row(reference, number, [values[at, number] for _, _, at in groups])
        for number in range(len(reference.names))
    ]
    columns = ["statistic of the input", "calibration", *(name for _, name, _ in groups)]
    return table(f"Input health, {view.name}", columns, rows)


def _row(reference: HealthSettings, number: int, columns: Sequence[Floats]) -> list[Child]:
    calibrated = _spread(reference.means[number], reference.scales[number])
    observed = (_spread(float(column.mean()), float(column.std())) for column in columns)
    return [reference.names[number], calibrated, *observed]


def _spread(mean: float, deviation: float) -> str:
    return f"{mean:.2f} ± {deviation:.2f}"
