# SPDX-License-Identifier: Apache-2.0
"""Measures of a prediction: accuracy drops, delays, failures, OOD samples, probabilities."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from tcuq.evaluation.measures import (
    area_under_risk_coverage,
    auprc,
    auroc,
    brier,
    expected_calibration_error,
    moving_mean,
    negative_log_likelihood,
)
from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scores.score import Prediction, softmax

Floats = NDArray[np.float64]
WINDOW = 100  # the paper's m
DEVIATIONS = 3
FALSE_ALARMS = 0.01  # share of in-distribution windows above a delay's limit


@dataclass(frozen=True, slots=True)
class AccuracyReference:
    """Mean and standard deviation of the moving accuracy in distribution."""

    mean: float
    deviation: float

    @property
    def floor(self) -> float:
        """Accuracy below it has dropped; in the paper, accuracy equal to it has dropped, too."""
        return self.mean - DEVIATIONS * self.deviation


def accuracy_reference(calibration: ScenarioRun) -> AccuracyReference:
    """Return the base network's accuracy on the calibration stream, the same for every method.

    It is what is known before deployment. A test stream of few people has so wide a spread that
    accuracy hardly ever falls three deviations below its mean.
    """
    p = softmax(calibration.outputs["base"]["logits"])
    accuracy = _moving_accuracy(calibration, Prediction(p, np.zeros(len(p))))
    finite = accuracy[np.isfinite(accuracy)]
    return AccuracyReference(float(finite.mean()), float(finite.std()))


def drop_auprc(
    run: ScenarioRun,
    prediction: Prediction,
    reference: AccuracyReference,
    severity: int | None = None,
) -> dict[str, float]:
    """Return the AUPRC of moving risk for dropped accuracy, by condition (paper's appendix).

    The library's answer for windows is the mean expected error (decision 0073).

    With a severity, only windows that are clean or entirely of that severity count. NaN where
    accuracy never dropped.
    """
    accuracy = _moving_accuracy(run, prediction)
    risk = _moving_risk(run, prediction, finite=False)
    counted = np.isfinite(accuracy) & np.isfinite(risk)
    if severity is not None:
        counted &= _window_of_severity(run, 0) | _window_of_severity(run, severity)
    event = accuracy < reference.floor
    values = {}
    for number, name in enumerate(run.conditions):
        at = counted & (run.condition == number)
        values[name] = auprc(event[at], risk[at])
    return values


def detection_delay(
    run: ScenarioRun,
    prediction: Prediction,
    clean: tuple[ScenarioRun, Prediction],
    reference: AccuracyReference,
) -> dict[str, float]:
    """Return the median steps from the begin of a shift to its detection, and the misses.

    Detected: the moving risk is above the limit that FALSE_ALARMS of the in-distribution windows
    pass, the same share for every method. Conditions in which the base network's accuracy drops
    count; a missed one counts with its length.
    """
    limit = np.quantile(_moving_risk(*clean), 1 - FALSE_ALARMS)
    risk = _moving_risk(run, prediction, finite=False)
    base = Prediction(softmax(run.outputs["base"]["logits"]), prediction.risk)
    dropped = (_moving_accuracy(run, base) < reference.floor) & run.shifted
    delays, missed = [], 0
    for number in np.unique(run.condition[dropped]):
        above = (risk > limit)[run.shifted & (run.condition == number)]
        missed += not above.any()
        delays.append(float(above.argmax() + 1) if above.any() else float(len(above)))
    median = float(np.median(delays)) if delays else float("nan")
    return {"median": median, "missed": float(missed), "conditions": float(len(delays))}


def failure_auroc(run: ScenarioRun, prediction: Prediction) -> float:
    """Return the AUROC of the risk for wrong against correct predictions."""
    known = run.labels >= 0
    return auroc((prediction.label != run.labels)[known], prediction.risk[known])


def risk_coverage_area(run: ScenarioRun, prediction: Prediction) -> float:
    """Return the area under the risk-coverage curve."""
    known = run.labels >= 0
    wrong = (prediction.label != run.labels)[known]
    return area_under_risk_coverage(wrong, prediction.risk[known])


def ood_auroc(run: ScenarioRun, prediction: Prediction) -> float:
    """Return the AUROC for OOD samples against correctly predicted in-distribution ones."""
    correct = (run.labels >= 0) & (prediction.label == run.labels) & ~run.shifted
    counted = correct | run.shifted
    score = prediction.risk if prediction.novelty is None else prediction.novelty
    return auroc(run.shifted[counted], score[counted])


def probabilities(run: ScenarioRun, prediction: Prediction) -> dict[str, float]:
    """Return F1, both forms of Brier, NLL and ECE, as in the paper's calibration table."""
    known = run.labels >= 0
    p, labels = prediction.probabilities[known], run.labels[known]
    correct = p.argmax(axis=1) == labels
    square = float(brier(p, labels).mean())
    return {
        "accuracy": float(correct.mean()),
        "F1": float(f1_score(labels, p.argmax(axis=1), average="macro")),
        "Brier": square,
        "Brier / classes": square / p.shape[1],
        "NLL": float(negative_log_likelihood(p, labels).mean()),
        "ECE": expected_calibration_error(p.max(axis=1), correct),
    }


def _moving_risk(run: ScenarioRun, prediction: Prediction, *, finite: bool = True) -> Floats:
    """Return the mean expected error, else risk, of each window; not finite before a whole one."""
    error = prediction.risk if prediction.expected_error is None else prediction.expected_error
    risk = moving_mean(error, np.ones(len(run), np.bool_), run.starts, WINDOW)
    return risk[np.isfinite(risk)] if finite else risk


def _moving_accuracy(run: ScenarioRun, prediction: Prediction) -> Floats:
    correct = (prediction.label == run.labels).astype(np.float64)
    return moving_mean(correct, run.labels >= 0, run.starts, WINDOW)


def _window_of_severity(run: ScenarioRun, severity: int) -> NDArray[np.bool_]:
    """Return steps whose whole window has this severity; 0 is clean."""
    same = ((run.severity == severity) & (run.shifted == (severity > 0))).astype(np.float64)
    share = moving_mean(same, np.ones(len(run), np.bool_), run.starts, WINDOW)
    return share > 1 - 0.5 / WINDOW
