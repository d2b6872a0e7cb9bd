# SPDX-License-Identifier: Apache-2.0
"""Measures on plain arrays; scikit-learn's where it has them."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.metrics import average_precision_score, roc_auc_score

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.integer]

ECE_BINS = 15
SMALLEST_PROBABILITY = 1e-12


def auroc(event: Bools, risk: Floats) -> float:
    """Chance that an event has a higher risk than a non-event; NaN if there is only one kind."""
    return float(roc_auc_score(event, risk)) if 0 < event.sum() < len(event) else float("nan")


def auprc(event: Bools, risk: Floats) -> float:
    """Average precision; NaN without events."""
    return float(average_precision_score(event, risk)) if event.any() else float("nan")


def moving_mean(values: Floats, known: Bools, starts: Ints, window: int) -> Floats:
    """Mean of the known values among the last `window` steps of a recording.

    NaN where the recording is younger than the window or less than half of the window is known.
    """
    means = np.full(len(values), np.nan)
    for begin, end in pairwise([*starts.tolist(), len(values)]):
        if end - begin < window:
            continue
        counted = np.concatenate([[0], np.cumsum(known[begin:end])])
        summed = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0)[begin:end])])
        count = counted[window:] - counted[:-window]
        total = summed[window:] - summed[:-window]
        np.divide(total, count, out=means[begin + window - 1 : end], where=2 * count >= window)
    return means


def accuracy_and_floor(
    right: Bools, known: Bools, shifted: Bools, starts: Ints, window: int
) -> tuple[Floats, float]:
    """Moving accuracy, and µ - 3σ of it over windows without a shifted step; NaN without any."""
    accuracy = moving_mean(right.astype(float), known, starts, window)
    everything = np.ones(len(right), np.bool_)
    touched = moving_mean(shifted.astype(float), everything, starts, window)
    usual = accuracy[np.isfinite(accuracy) & (touched == 0)]
    floor = float(usual.mean() - 3 * usual.std()) if len(usual) else float("nan")
    return accuracy, floor


def area_under_risk_coverage(wrong: Bools, risk: Floats) -> float:
    """Mean error rate among the least risky k steps, over all k; equal risks share their errors."""
    order = np.argsort(risk, kind="stable")
    _, first, counts = np.unique(risk[order], return_index=True, return_counts=True)
    share = np.add.reduceat(wrong[order].astype(np.float64), first) / counts
    errors = np.cumsum(np.repeat(share, counts))
    return float((errors / np.arange(1, len(wrong) + 1)).mean())


def risk_coverage(wrong: Bools, risk: Floats, points: int = 101) -> tuple[Floats, Floats]:
    """Coverage up to 1, and the error rate among the least risky steps at that coverage."""
    errors = np.cumsum(wrong[np.argsort(risk, kind="stable")])
    covered = np.unique(np.linspace(1, len(wrong), points).astype(int))
    return covered / len(wrong), errors[covered - 1] / covered


def negative_log_likelihood(probabilities: Floats, labels: Ints) -> Floats:
    """-ln of the true class's probability, per step."""
    of_label = probabilities[np.arange(len(labels)), labels]
    return -np.log(np.maximum(of_label, SMALLEST_PROBABILITY))


def brier(probabilities: Floats, labels: Ints) -> Floats:
    """Squared distance from the one-hot label, per step, summed over classes."""
    off = probabilities.copy()
    off[np.arange(len(labels)), labels] -= 1
    total: Floats = (off * off).sum(axis=1)
    return total


def expected_calibration_error(confidence: Floats, right: Bools) -> float:
    """Gap between confidence and accuracy, over 15 equal bins of confidence."""
    bins = np.minimum((confidence * ECE_BINS).astype(int), ECE_BINS - 1)
    count = np.bincount(bins, minlength=ECE_BINS)
    gap = np.bincount(bins, weights=right - confidence, minlength=ECE_BINS)
    return float(np.abs(gap).sum() / count.sum())


def worst_window_rate(hits: Bools, window: int) -> float:
    """The highest rate of hits in any `window` consecutive steps."""
    counted = np.concatenate([[0], np.cumsum(hits)])
    size = min(window, len(hits))
    return float((counted[size:] - counted[:-size]).max() / size)


def poisson_interval(count: int) -> tuple[float, float]:
    """The exact 95 % interval of a Poisson mean, given one count."""
    low = float(chi2.ppf(0.025, 2 * count) / 2) if count else 0.0
    return low, float(chi2.ppf(0.975, 2 * count + 2) / 2)


def steps_after_shift(shifted: Bools, steps: int) -> Bools:
    """The first unshifted steps after each shifted stretch, up to so many.

    A block of an alarm channel that ends there may still average shifted steps.
    """
    ends = np.flatnonzero(shifted[:-1] & ~shifted[1:]) + 1
    after = np.zeros(len(shifted), np.bool_)
    for end in ends.tolist():
        after[end : end + steps] = True
    return after & ~shifted


def detection_delays(alarm: Bools, shifted: Bools) -> Floats:
    """Steps from each onset of a shift to the first alarm within it; infinite without one."""
    state = np.concatenate([[False], shifted, [False]])
    onsets = np.flatnonzero(~state[:-1] & state[1:])
    ends = np.flatnonzero(state[:-1] & ~state[1:])
    delays = np.full(len(onsets), np.inf)
    for index, (onset, over) in enumerate(zip(onsets, ends, strict=True)):
        hits = np.flatnonzero(alarm[onset:over])
        if len(hits):
            delays[index] = hits[0] + 1
    return delays
