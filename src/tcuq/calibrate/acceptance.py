# SPDX-License-Identifier: Apache-2.0
"""The threshold below which at most a stated share of the accepted predictions is wrong.

Selective guaranteed risk (Geifman and El-Yaniv, 2017). Candidate thresholds are tested from the
strictest up, and the first failure ends the sequence (fixed-sequence testing, as in Learn then
Test); two sequences share the error probability, and one that reaches the other's start without a
failure takes over its share (the fallback procedure, Wiens, 2003).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from tcuq.calibrate.independence import (
    LabelledSteps,
    Unit,
    betting_p_value,
    binomial_p_value,
    labelled_steps,
)
from tcuq.calibrate.observe import Parts
from tcuq.errors import FitError
from tcuq.options import PromiseOptions
from tcuq.profile.settings import (
    ALPHA_BITS,
    RISK_LEVELS,
    BudgetSettings,
    PromiseSettings,
    ThresholdSettings,
)
from tcuq.stages.budget import Budget, Outcome
from tcuq.stream import Stream

CANDIDATES = 100  # thresholds, at equal shares of the labelled steps
STARTS = (0.25, 0.5)  # shares of the labelled steps at which a sequence of tests begins
LEAST_START = 1.5  # a start has at least this many times the units that a test without error needs


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A threshold in risk levels, and the labelled steps below it."""

    level: int
    steps: int
    errors: int
    independent: int  # units
    shares: NDArray[np.float64] | None  # accepted error by recording, where recordings are units

    def p_value(self, accepted_error: float, miss: float) -> float:
        """Return the p-value of an accepted error as large as this or larger.

        Recordings count alike, however long, so their steps together must show no more errors.
        """
        if self.errors > accepted_error * self.steps:
            return 1.0
        if self.shares is not None:
            return betting_p_value(self.shares, accepted_error, miss)
        errors = self.errors * self.independent / max(self.steps, 1)
        return binomial_p_value(errors, self.independent, accepted_error)

    def bound(self, miss: float) -> float:
        """Return the smallest accepted error that the test rejects."""

        def excess(share: float) -> float:
            return self.p_value(share, miss) - miss

        return float(brentq(excess, 1e-9, 1 - 1e-9)) if excess(1 - 1e-9) < 0 else 1.0


def promised_threshold(
    calibration: Stream,
    parts: Parts,
    levels: NDArray[np.int64],
    options: PromiseOptions,
    budget: BudgetSettings,
) -> tuple[ThresholdSettings, PromiseSettings]:
    """Return the fixed threshold that keeps the accepted error, and the promise it supports."""
    if calibration.labelled == 0:
        raise FitError(
            f"accepted_error={options.accepted_error:g} needs labels on the calibration stream,"
            " got none: give Stream(labels=...)"
        )
    predicted = np.concatenate([part.label for part in parts])
    doubt = np.concatenate(
        [1 - part.confidence if calibration.classes else part.low_confidence for part in parts]
    )
    labelled = labelled_steps(calibration, predicted, doubt, levels)
    unit = options.independent_unit or ("recordings" if len(calibration.starts) > 1 else "steps")
    chosen = choose_threshold(labelled, unit, options.accepted_error, options.confidence)
    requested = levels >= chosen.level
    outcomes = Budget(budget).run(requested)
    promise = PromiseSettings(
        accepted_error=options.accepted_error,
        confidence=options.confidence,
        unit=unit,
        independent=chosen.independent,
        labelled=chosen.steps,
        errors=chosen.errors,
        coverage=float(1 - requested.mean()),
        denied=float((outcomes == Outcome.DENIED).mean()),
    )
    alpha_q16 = min(max(round(requested.mean() * (1 << ALPHA_BITS)), 1), (1 << ALPHA_BITS) - 1)
    level = chosen.level
    return ThresholdSettings("guarded", alpha_q16, 0, level, level, 0), promise


def without_labels(stream: Stream) -> Stream:
    """Return the same stream without its labels."""
    return Stream(
        stream.posteriors,
        stream.features,
        kind=stream.kind,
        starts=stream.starts,
        shifted=stream.shifted,
        health=stream.health,
        health_names=stream.health_names or None,
    )


def choose_threshold(
    labelled: LabelledSteps, unit: Unit, accepted_error: float, confidence: float
) -> Candidate:
    """Return the highest threshold that the tests pass, or refuse.

    For independent units the chance that a passed threshold breaks the promise is at most
    1 - confidence, whatever the accepted errors of the candidates are.
    """
    miss = 1 - confidence
    promise = f"accepted_error={accepted_error:g} at confidence {confidence:g}"
    candidates = _candidates(labelled, unit)
    fewest = units_without_error(accepted_error, confidence)
    most = max(candidates, key=lambda candidate: candidate.independent)
    if most.independent < fewest:
        raise FitError(f"{promise} {_too_few(most, unit, fewest)}")
    starts = _starts(candidates, fewest)
    passed, level = None, 0.0
    for place, candidate in enumerate(candidates):
        level += miss * starts.count(place) / len(STARTS)
        if level > 0 and candidate.p_value(accepted_error, miss) <= level:
            passed = candidate
        else:
            level = 0.0
    if passed is None:
        tested = candidates[min(starts) :]
        raise FitError(f"{promise} {_too_wrong(tested, unit, accepted_error, miss)}")
    return passed


def units_without_error(accepted_error: float, confidence: float) -> int:
    """Return how many independent units, all of them right, prove the accepted error."""
    return math.ceil(math.log(1 - confidence) / math.log1p(-accepted_error) - 1e-9)


def _candidates(labelled: LabelledSteps, unit: Unit) -> list[Candidate]:
    """Return thresholds in ascending order, placed without looking at the labels."""
    ordered = np.sort(labelled.levels)
    last = np.arange(1, CANDIDATES + 1) * len(ordered) // CANDIDATES - 1
    levels = np.unique(np.minimum(ordered[np.maximum(last, 0)] + 1, RISK_LEVELS))
    independent = labelled.independent(unit, levels.tolist())
    candidates = []
    for level, units in zip(levels.tolist(), independent, strict=True):
        accepted = labelled.levels < level
        shares = labelled.error_by_recording(level) if unit == "recordings" else None
        errors = int(labelled.wrong[accepted].sum())
        candidates.append(Candidate(level, int(accepted.sum()), errors, units, shares))
    return candidates


def _starts(candidates: list[Candidate], fewest: int) -> list[int]:
    """Return the places at which a sequence of tests begins."""
    steps = np.array([candidate.steps for candidate in candidates])
    units = np.maximum.accumulate([candidate.independent for candidate in candidates])
    first = np.searchsorted(units, min(LEAST_START * fewest, units[-1]))
    places = [max(first, np.searchsorted(steps, share * steps[-1])) for share in STARTS]
    return [min(int(place), len(candidates) - 1) for place in places]


def _too_few(most: Candidate, unit: Unit, fewest: int) -> str:
    if unit == "recordings":
        return (
            f"needs at least {fewest:,} labelled recordings without an error; calibration has"
            f' {most.independent:,}: record more, or give independent_unit="steps" for a promise'
            " on the same people and devices alone"
        )
    needed = math.ceil(fewest * most.steps / max(most.independent, 1))
    return (
        f"needs at least {fewest:,} independent labelled steps without an error; calibration has"
        f" {most.steps:,} labelled steps, worth {most.independent:,} independent ones:"
        f" label about {needed:,} or more"
    )


def _too_wrong(tested: list[Candidate], unit: Unit, accepted_error: float, miss: float) -> str:
    bounds = [candidate.bound(miss / len(STARTS)) for candidate in tested]
    best, bound = tested[int(np.argmin(bounds))], min(bounds)
    labels = (
        f"cannot be kept at any threshold: of the {best.steps:,} labelled steps of least risk"
        f" {best.errors:,} are wrong, and as {best.independent:,} independent {unit} they bound the"
        f" accepted error by {bound:.3f} only:"
    )
    share = best.errors / best.steps
    more = ""
    if unit == "steps" and share < accepted_error:
        units = _steps_needed(share, accepted_error, miss / len(STARTS))
        more = f" label about {math.ceil(units * best.steps / best.independent):,} such steps, or"
    return f"{labels}{more} give accepted_error={math.ceil(100 * bound) / 100:g} or more"


def _steps_needed(share: float, accepted_error: float, miss: float) -> int:
    """Return how many independent steps with this share of errors prove the accepted error."""
    steps = units_without_error(accepted_error, 1 - miss)
    while binomial_p_value(share * steps, steps, accepted_error) > miss:
        steps = math.ceil(1.05 * steps)
    return steps
