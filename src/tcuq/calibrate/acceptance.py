# SPDX-License-Identifier: Apache-2.0
"""The acceptance threshold under which at most a stated share of accepted steps is wrong.

Selective guaranteed risk (Geifman and El-Yaniv, 2017): the exact binomial test of each candidate
threshold, counting independent steps. Candidates are tested from the strictest up and the first
failure ends the sequence (fixed-sequence testing), from two starts that share the error
probability; a start that is reached with all tests passed adds its share (the fallback procedure).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc
from scipy.stats import beta

from tcuq.calibrate.independence import LabelledSteps, labelled_steps
from tcuq.calibrate.observe import Parts
from tcuq.calibrate.presets import Options
from tcuq.errors import FitError
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
STARTS = (0.25, 0.5)  # shares of the labelled steps from which a sequence of tests begins
LEAST_START = 1.5  # a start has at least this many times the steps that a test without error needs


@dataclass(frozen=True, slots=True)
class Candidate:
    """A threshold in risk levels, the labelled steps below it, and how many are independent."""

    level: int
    steps: int
    errors: int
    independent: int

    @property
    def independent_errors(self) -> int:
        """Errors among the independent steps, rounded up."""
        return math.ceil(self.errors * self.independent / max(self.steps, 1) - 1e-9)

    def p_value(self, accepted_error: float) -> float:
        """Return P(at most so many errors) if the accepted error were the promised one."""
        return binomial_tail(self.independent_errors, self.independent, accepted_error)

    def bound(self, miss: float) -> float:
        """Return the Clopper-Pearson upper bound that fails with probability `miss`."""
        errors, steps = self.independent_errors, self.independent
        return 1.0 if errors >= steps else float(beta.ppf(1 - miss, errors + 1, steps - errors))


def promised_threshold(
    calibration: Stream,
    parts: Parts,
    levels: NDArray[np.int64],
    options: Options,
    budget: BudgetSettings,
) -> tuple[ThresholdSettings, PromiseSettings]:
    """Return the fixed threshold that keeps the accepted error, and the promise it supports."""
    assert options.accepted_error is not None  # noqa: S101 - checked; for the type checker
    if calibration.labels is None or not (calibration.labels >= 0).any():
        raise FitError(
            f"accepted_error={options.accepted_error:g} needs labels on the calibration stream,"
            " got none: give Stream(labels=...)"
        )
    predicted = np.concatenate([part.label for part in parts])
    doubt = 1 - np.concatenate([part.confidence for part in parts])
    labelled, known = labelled_steps(calibration, predicted, doubt, options.confidence)
    chosen = choose_threshold(levels[known], labelled, options.accepted_error, options.confidence)
    requested = levels >= chosen.level
    outcomes = Budget(budget).run(requested)
    promise = PromiseSettings(
        accepted_error=options.accepted_error,
        confidence=options.confidence,
        labelled=chosen.steps,
        errors=chosen.errors,
        independent=chosen.independent,
        coverage=float(1 - requested.mean()),
        denied=float((outcomes == Outcome.DENIED).mean()),
    )
    alpha_q16 = min(max(round(requested.mean() * (1 << ALPHA_BITS)), 1), (1 << ALPHA_BITS) - 1)
    level = chosen.level
    return ThresholdSettings(options.mode, alpha_q16, 0, level, level, options.warmup), promise


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
    levels: NDArray[np.int64], labelled: LabelledSteps, accepted_error: float, confidence: float
) -> Candidate:
    """Return the highest threshold whose accepted error is bounded, or refuse.

    `levels` are the risk levels of the labelled steps. Exact for independent steps if accepting
    more does not lower an accepted error that is above the promised one.
    """
    miss = 1 - confidence
    candidates = list(_candidates(levels, labelled))
    fewest = steps_without_error(accepted_error, confidence)
    if candidates[-1].independent < fewest:
        raise FitError(_too_few(candidates[-1], accepted_error, confidence))
    starts = _starts(candidates, fewest)
    passed, level = None, 0.0
    for place, candidate in enumerate(candidates):
        level += miss * starts.count(place) / len(STARTS)
        if candidate.p_value(accepted_error) <= level:
            passed = candidate
        else:
            level = 0.0
    if passed is None:
        raise FitError(_too_wrong(candidates[min(starts) :], accepted_error, confidence))
    return passed


def steps_without_error(accepted_error: float, confidence: float) -> int:
    """Return how many independent steps, all of them right, prove the accepted error."""
    return math.ceil(math.log(1 - confidence) / math.log1p(-accepted_error) - 1e-9)


def binomial_tail(errors: int, steps: int, share: float) -> float:
    """Return P(at most `errors` of `steps`), each wrong with probability `share`."""
    return 1.0 if errors >= steps else float(betainc(steps - errors, errors + 1, 1 - share))


def _candidates(levels: NDArray[np.int64], labelled: LabelledSteps) -> Iterator[Candidate]:
    """Yield thresholds in ascending order, placed without looking at the labels."""
    ordered = np.sort(levels)
    last = np.arange(1, CANDIDATES + 1) * len(ordered) // CANDIDATES - 1
    for level in np.unique(np.minimum(ordered[np.maximum(last, 0)] + 1, RISK_LEVELS)).tolist():
        accepted = levels < level
        errors = int(labelled.wrong[accepted].sum())
        steps = int(accepted.sum())
        yield Candidate(level, steps, errors, labelled.independent(levels, level))


def _starts(candidates: list[Candidate], fewest: int) -> list[int]:
    """Return the places at which a sequence of tests begins."""
    steps = np.array([candidate.steps for candidate in candidates])
    wanted = [max(LEAST_START * fewest, share * steps[-1]) for share in STARTS]
    return [min(int(np.searchsorted(steps, least)), len(steps) - 1) for least in wanted]


def _promise(accepted_error: float, confidence: float) -> str:
    return f"accepted_error={accepted_error:g} at confidence {confidence:g}"


def _too_few(everything: Candidate, accepted_error: float, confidence: float) -> str:
    fewest = steps_without_error(accepted_error, confidence)
    per_step = everything.steps / max(everything.independent, 1)
    return (
        f"{_promise(accepted_error, confidence)} needs at least {fewest:,} independent labelled"
        f" steps without an error; calibration has {everything.steps:,} labelled steps, worth"
        f" {everything.independent:,} independent ones: label about"
        f" {math.ceil(fewest * per_step):,} or more, of more recordings"
    )


def _too_wrong(tested: list[Candidate], accepted_error: float, confidence: float) -> str:
    miss = (1 - confidence) / len(STARTS)
    best = min(tested, key=lambda candidate: candidate.bound(miss))
    share, bound = best.errors / best.steps, best.bound(miss)
    message = (
        f"{_promise(accepted_error, confidence)} cannot be kept at any threshold: among the"
        f" {best.steps:,} labelled steps of least risk {best.errors:,} are wrong, and worth"
        f" {best.independent:,} independent ones they bound the accepted error by {bound:.3f} only:"
    )
    if share < accepted_error:
        needed = _steps_needed(share, accepted_error, miss) * best.steps / best.independent
        message += f" label about {math.ceil(needed):,} such steps, or"
    return f"{message} give accepted_error={math.ceil(bound * 100) / 100:g} or more"


def _steps_needed(share: float, accepted_error: float, miss: float) -> int:
    """Return how many independent steps with this share of errors prove the accepted error."""
    steps = steps_without_error(accepted_error, 1 - miss)
    while binomial_tail(math.ceil(share * steps), steps, accepted_error) > miss:
        steps = math.ceil(1.05 * steps)
    return steps
