# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tcuq.calibrate.tails import POINTS, RAREST, TermTable, survival_table
from tcuq.profile.settings import Term
from tcuq.stages.score import surprise

Draw = Callable[[np.random.Generator], NDArray[np.float64]]
SAMPLES: dict[str, Draw] = {
    "normal": lambda rng: rng.normal(size=5000),
    "heavy": lambda rng: rng.standard_t(2, 5000),
    "mostly ties": lambda rng: np.maximum(rng.normal(size=5000), 0),
    "few values": lambda rng: rng.integers(0, 4, 5000).astype(float),
    "two steps": lambda rng: rng.normal(size=2),
    "one step": lambda rng: rng.normal(size=1),
    "constant": lambda _: np.full(300, 2.5),
}


def table_of(values: NDArray[np.float64]) -> TermTable:
    """Return the table of a sample."""
    return survival_table(*np.unique(values, return_counts=True), STEEPEST)


@pytest.mark.parametrize("name", SAMPLES)
def test_table_is_a_survival_function(name: str) -> None:
    """Points ascend, bits start at 0 and never fall, the slope is not negative."""
    table = table_of(SAMPLES[name](np.random.default_rng(0)))
    assert 1 <= len(table.points) == len(table.bits) <= POINTS
    assert (np.diff(table.points) > 0).all()
    assert table.bits[0] == 0
    assert (np.diff(table.bits) >= 0).all()
    assert 0 <= table.slope <= STEEPEST


@pytest.mark.parametrize("name", SAMPLES)
def test_ties_keep_their_mass(name: str) -> None:
    """At each point the bits are -log2 of the share of steps at or above it."""
    values = SAMPLES[name](np.random.default_rng(1))
    table = table_of(values)
    for point, bits in zip(table.points, table.bits, strict=True):
        assert bits == pytest.approx(-np.log2((values >= point).mean()))


STEEPEST = 1e6  # bits per unit


def test_table_ends_at_one_step_in_two_hundred() -> None:
    """Beyond the point that one step in two hundred exceeds, the exponential tail begins."""
    values = np.random.default_rng(2).normal(size=20_000)
    table = table_of(values)
    assert (values >= table.points[-1]).mean() == pytest.approx(RAREST, rel=0.02)


@pytest.mark.parametrize("scale", [0.01, 1.0, 50.0])
def test_exponential_tail_has_its_slope(scale: float) -> None:
    """Beyond an exponential's table, bits grow by 1 / (scale · ln 2) per unit."""
    table = table_of(np.random.default_rng(3).exponential(scale, 100_000))
    assert table.slope == pytest.approx(1 / (scale * np.log(2)), rel=0.1)


def test_constant_makes_any_change_surprising() -> None:
    """A signal that never varied has one point, no bits at it and the steepest tail."""
    table = table_of(np.full(100, 3.0))
    assert (table.points, table.bits, table.slope) == ((3.0,), (0.0,), STEEPEST)


@pytest.mark.parametrize("tail", ["upper", "lower"])
def test_surprise_is_calibrated(tail: str) -> None:
    """On fresh steps of the same kind, at least k bits come at a rate of about 2^-k."""
    rng = np.random.default_rng(4)
    sign = 1 if tail == "upper" else -1
    table = table_of(sign * rng.laplace(size=50_000))
    term = Term(
        "doubt", tail, "surprise", None, 0.0, 0.0, 16.0, 1.0, table.points, table.bits, table.slope  # type: ignore[arg-type]
    )  # fmt: skip
    bits = surprise(rng.laplace(size=200_000), term)
    for level in (1, 3, 6, 9, 10):
        assert (bits >= level).mean() == pytest.approx(2.0**-level, rel=0.25)
