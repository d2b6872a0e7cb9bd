# SPDX-License-Identifier: Apache-2.0
"""What a judgement is worth: accuracy drops, failures, other things, and the probabilities."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from benchmark.scores.score import Judged, softmax
from benchmark.seen import Seen
from tcuq.evaluate.measures import (
    area_under_risk_coverage,
    auprc,
    auroc,
    brier,
    expected_calibration_error,
    moving_mean,
    negative_log_likelihood,
)

Floats = NDArray[np.float64]
WINDOW = 100  # the paper's m
DEVIATIONS = 3


@dataclass(frozen=True, slots=True)
class Usual:
    """Mean and spread of the moving accuracy in distribution."""

    mean: float
    deviation: float

    @property
    def floor(self) -> float:
        """Below it, accuracy has dropped; at it too in the paper, where nothing is always right."""
        return self.mean - DEVIATIONS * self.deviation


def usual(calibration: Seen) -> Usual:
    """Of the base network on the calibration stream, for every method.

    It is the operating point known before deployment. A test stream of few people, some of them
    hard, has so wide a spread that three deviations below its mean nothing ever falls.
    """
    p = softmax(calibration.outputs["base"]["logits"])
    accuracy = _moving_accuracy(calibration, Judged(p, np.zeros(len(p))))
    found = accuracy[np.isfinite(accuracy)]
    return Usual(float(found.mean()), float(found.std()))


def drop_auprc(
    seen: Seen, judged: Judged, ordinary: Usual, severity: int | None = None
) -> dict[str, float]:
    """AUPRC of the moving risk for dropped moving accuracy, by scenario (the paper's appendix).

    With a severity, only windows that are clean or wholly of that severity count. NaN where
    accuracy never dropped.
    """
    accuracy = _moving_accuracy(seen, judged)
    risk = moving_mean(judged.risk, np.ones(len(seen), np.bool_), seen.starts, WINDOW)
    counted = np.isfinite(accuracy) & np.isfinite(risk)
    if severity is not None:
        counted &= _whole(seen, 0) | _whole(seen, severity)
    event = accuracy < ordinary.floor
    found = {}
    for number, name in enumerate(seen.scenarios):
        at = counted & (seen.scenario == number)
        found[name] = auprc(event[at], risk[at])
    return found


def failure_auroc(seen: Seen, judged: Judged) -> float:
    """Wrong against right predictions."""
    known = seen.labels >= 0
    return auroc((judged.label != seen.labels)[known], judged.risk[known])


def failure_area(seen: Seen, judged: Judged) -> float:
    """Area under the risk-coverage curve."""
    known = seen.labels >= 0
    wrong = (judged.label != seen.labels)[known]
    return area_under_risk_coverage(wrong, judged.risk[known])


def other_auroc(seen: Seen, judged: Judged) -> float:
    """Samples of another set against rightly predicted ones of the network's own."""
    right = (seen.labels >= 0) & (judged.label == seen.labels) & ~seen.shifted
    counted = right | seen.shifted
    return auroc(seen.shifted[counted], judged.risk[counted])


def probabilities(seen: Seen, judged: Judged) -> dict[str, float]:
    """F1, Brier both ways, NLL and ECE, as the paper's table of calibration."""
    known = seen.labels >= 0
    p, labels = judged.probabilities[known], seen.labels[known]
    right = p.argmax(axis=1) == labels
    square = float(brier(p, labels).mean())
    return {
        "accuracy": float(right.mean()),
        "F1": float(f1_score(labels, p.argmax(axis=1), average="macro")),
        "Brier": square,
        "Brier / classes": square / p.shape[1],
        "NLL": float(negative_log_likelihood(p, labels).mean()),
        "ECE": expected_calibration_error(p.max(axis=1), right),
    }


def _moving_accuracy(seen: Seen, judged: Judged) -> Floats:
    right = (judged.label == seen.labels).astype(np.float64)
    return moving_mean(right, seen.labels >= 0, seen.starts, WINDOW)


def _whole(seen: Seen, severity: int) -> NDArray[np.bool_]:
    """Steps whose window is all of this severity; 0 is clean."""
    same = ((seen.severity == severity) & (seen.shifted == (severity > 0))).astype(np.float64)
    share = moving_mean(same, np.ones(len(seen), np.bool_), seen.starts, WINDOW)
    return share > 1 - 0.5 / WINDOW
