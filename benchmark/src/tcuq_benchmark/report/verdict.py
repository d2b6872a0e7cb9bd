# SPDX-License-Identifier: Apache-2.0
"""Verdicts from paired differences: mean, t interval and test, with seeds as independent units.

A seed has its own network and streams. Conditions of one seed share both, so they are averaged
first; with n seeds the t distribution has n - 1 degrees of freedom.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import t as student

Verdict = Literal[
    "reproduced",
    "refuted",
    "undecided",
    "no effect possible",
    "nothing to measure",
    "not testable here",
    "not run yet",
]
TESTED: tuple[Verdict, ...] = ("reproduced", "refuted", "undecided")
Values = Mapping[tuple[int, str], float]  # by seed and condition
Groups = Mapping[str, Sequence["Comparison"]]  # by set, or by severity
CONFIDENCE = 0.95
SMALL = 0.01  # intervals below it have four decimals
ROUNDING = 1e-4  # committed results have four decimals


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isinf(self.low):
            return f"{self.mean:+.3f} (no interval)"
        digits = 3 if max(abs(self.low), abs(self.high)) >= SMALL else 4
        mean, low, high = (f"{one:+.{digits}f}" for one in (self.mean, self.low, self.high))
        return f"{mean} ({low} to {high})"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Differences by seed, positive where the claim's side is better.

    The claim is that their expectation is at least `least`: 0 for "better", a negative margin for
    "tied" or "within 0.02 of" (non-inferiority), a positive one for "better by".
    """

    name: str
    differences: tuple[float, ...]
    least: float = 0.0
    levels: tuple[float, float] | None = None  # both means, for the page

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Return the t interval of the mean; infinite with one seed."""
        return t_interval(self.differences, confidence)

    @property
    def holds(self) -> bool:
        """Whether the whole interval is above `least`."""
        return self.interval().low > self.least

    @property
    def p_contradicted(self) -> float:
        """One-sided p-value of the hypothesis that the claim is true."""
        count, scale = len(self.differences), _standard_error(self.differences)
        if count < 2:
            return 1.0
        return float(student.cdf((np.mean(self.differences) - self.least) / scale, count - 1))


def seed_differences(ours: Values, theirs: Values, sign: int = 1) -> tuple[float, ...]:
    """Return mean differences by seed over shared conditions; `sign` -1: lower is better."""
    by_seed: dict[int, list[float]] = {}
    for at in sorted(ours.keys() & theirs.keys()):
        by_seed.setdefault(at[0], []).append(sign * (ours[at] - theirs[at]))
    return tuple(float(np.mean(values)) for values in by_seed.values())


def t_interval(differences: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Return the mean over seeds with its t interval."""
    mean, count = float(np.mean(differences)), len(differences)
    if count < 2:
        return Interval(mean, -math.inf, math.inf)
    half = student.ppf((1 + confidence) / 2, count - 1) * _standard_error(differences)
    return Interval(mean, mean - float(half), mean + float(half))


def mean_over_sets(by_set: Sequence[Sequence[float]]) -> Interval:
    """Return the mean over fixed sets; Welch and Satterthwaite's degrees of freedom.

    Networks of different sets are independent, also those of the same seed. The interval is for
    new networks and streams of these sets, not for other sets.
    """
    variances = [_standard_error(one) ** 2 / len(by_set) ** 2 for one in by_set]
    mean = float(np.mean([np.mean(one) for one in by_set]))
    if any(len(one) < 2 for one in by_set):
        return Interval(mean, -math.inf, math.inf)
    freedom = sum(variances) ** 2 / sum(
        variance**2 / (len(one) - 1) for variance, one in zip(variances, by_set, strict=True)
    )
    half = float(student.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(sum(variances))
    return Interval(mean, mean - half, mean + half)


def verdict_of(groups: Groups) -> Verdict:
    """Return the verdict of a claim that names every comparison of every group.

    Reproduced: every interval lies above its margin (intersection-union test: all must hold, so
    nothing is corrected). Refuted: the claim is rejected at 2.5 %, see `p_refuted`. A claim can be
    refuted before all of its comparisons were run, but not reproduced.
    """
    run = {name: measured for name, group in groups.items() if (measured := _measured(group))}
    if run and p_refuted(run) <= (1 - CONFIDENCE) / 2:
        return "refuted"
    comparisons = [one for group in groups.values() for one in group]
    if not all(one.differences for one in comparisons) or not all(groups.values()) or not groups:
        return "not run yet"
    return "reproduced" if all(one.holds for one in comparisons) else "undecided"


def p_refuted(groups: Groups) -> float:
    """Return the p-value of "the claim holds in every comparison".

    Bonferroni over the comparisons of a group, which share their networks; Simes over groups.
    """
    by_group = sorted(
        min(1.0, len(group) * min(one.p_contradicted for one in group)) for group in groups.values()
    )
    count = len(by_group)
    return min(count * p / rank for rank, p in enumerate(by_group, start=1))


def fewest_seeds(groups: Groups) -> int:
    """Return the smallest number of seeds among the comparisons that were run."""
    run = [one for group in groups.values() for one in _measured(group)]
    return min((len(one.differences) for one in run), default=0)


def _measured(group: Sequence[Comparison]) -> list[Comparison]:
    return [one for one in group if one.differences]


def _standard_error(differences: Sequence[float]) -> float:
    if len(differences) < 2:
        return math.inf
    spread = float(np.std(differences, ddof=1)) / math.sqrt(len(differences))
    return max(spread, ROUNDING)  # equal values may differ by what rounding hides
