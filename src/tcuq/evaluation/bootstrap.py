# SPDX-License-Identifier: Apache-2.0
"""Confidence intervals that respect autocorrelation: a circular block bootstrap.

Written by hand because the library that has it depends on pandas and statsmodels.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]

MIN_BLOCKS = 5  # fewer blocks do not show how much a statistic varies
MIN_EVENTS = 5  # errors, shifts, ...: fewer do not either


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % confidence interval, or the reason why there is none (low and high are NaN)."""

    low: float = math.nan
    high: float = math.nan
    reason: str = ""


def interval_of(
    statistic: Callable[[Indices], float],
    steps: int,
    block: int,
    rounds: int,
    rng: np.random.Generator,
    *,
    events: Mapping[str, int] | None = None,
) -> Interval:
    """The block-bootstrap interval of a statistic, or why there is none.

    ``events`` names and counts what the statistic depends on, such as errors; the other
    parameters are those of `block_interval`.
    """
    reason = too_few(events or {})
    if rounds == 0:
        reason = "no bootstrap rounds were requested"
    elif steps < MIN_BLOCKS * block:
        reason = f"{steps:,} steps hold fewer than {MIN_BLOCKS} bootstrap blocks of {block:,} steps"
    if reason:
        return Interval(reason=reason)
    low, high = block_interval(statistic, steps, block, rounds, rng)
    if math.isnan(low):
        return Interval(reason="undefined in more than half of the bootstrap rounds")
    if low == high:
        return Interval(reason="every bootstrap round gives the same value")
    return Interval(low, high)


def too_few(events: Mapping[str, int]) -> str:
    """Say which event is too rare for an interval; empty if none is."""
    for name, count in events.items():
        if count < MIN_EVENTS:
            return f"only {count} {name}; an interval needs at least {MIN_EVENTS}"
    return ""


def block_interval(
    statistic: Callable[[Indices], float],
    steps: int,
    block: int,
    rounds: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The central 95 % of a statistic over resampled blocks of consecutive steps, or NaN.

    Parameters
    ----------
    statistic
        From the indices of a resampled stream to a number; NaN where it does not exist.
    steps
        Length of the stream.
    block
        Steps per block, at least a few autocorrelation times.
    rounds
        How many streams to resample; 0 gives no interval (NaN).
    rng
        The random generator.

    References
    ----------
    D. Politis and J. Romano, A circular block-resampling procedure for stationary data, 1992.
    """
    block = max(1, min(block, steps))
    values = []
    for _ in range(rounds):
        begins = rng.integers(0, steps, -(-steps // block))
        indices = (begins[:, None] + np.arange(block)).ravel()[:steps] % steps
        values.append(statistic(indices))
    finite = np.array([v for v in values if np.isfinite(v)])
    if len(finite) < rounds / 2 or len(finite) == 0:
        return math.nan, math.nan
    low, high = np.quantile(finite, [0.025, 0.975])
    return float(low), float(high)
