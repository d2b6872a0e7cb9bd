# SPDX-License-Identifier: Apache-2.0
"""Weights from labels: class-balanced, L2-regularised logistic regression on "was it wrong?"."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from tcuq.errors import FitError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Bounds = list[tuple[float | None, float | None]]

STRENGTH = 1.0  # the inverse of the L2 penalty, as scikit-learn's C
PULL = 0.1  # L2 penalty on the distance from the prior weights, per mean loss of a step
MAX_ITERATIONS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Signals of labelled steps, which of them were wrong, and their share of the loss."""

    signals: Floats
    wrong: Bools
    share: float


def fit_logistic(
    signals: Floats, wrong: Bools, signs: Literal["free", "monotone"]
) -> tuple[Floats, float]:
    """Return weights and bias; `monotone` keeps the weights at least 0 (the bias stays free)."""
    _require_both(wrong)
    if signs == "free":
        model = LogisticRegression(
            C=STRENGTH, class_weight="balanced", max_iter=MAX_ITERATIONS, tol=1e-8
        ).fit(signals, wrong)
        return model.coef_[0], float(model.intercept_[0])
    steps = STRENGTH * len(wrong) * _balanced(wrong)
    return _fit_bounded(signals, wrong, steps, np.zeros(signals.shape[1]), 1.0)


def fit_near(samples: Sequence[Sample], prior: Floats) -> tuple[Floats, float]:
    """Return weights of at least 0 near the prior ones, and a bias.

    Each sample is balanced on its own: half of its share of the loss is its wrong steps'.
    """
    for sample in samples:
        _require_both(sample.wrong)
    total = sum(sample.share for sample in samples)
    steps = [sample.share / total * _balanced(sample.wrong) for sample in samples]
    return _fit_bounded(
        np.concatenate([sample.signals for sample in samples]),
        np.concatenate([sample.wrong for sample in samples]),
        np.concatenate(steps),
        prior,
        PULL,
    )


def fit_factor(sums: Floats, more: Floats, wrong: Bools) -> float:
    """Return how many times ``more`` counts beside ``sums`` in the odds of an error, 0 to 1."""
    _require_both(wrong)
    steps = np.full(len(wrong), 1 / len(wrong))
    bounds: Bounds = [(1.0, 1.0), (0.0, 1.0), (None, None)]
    columns = np.column_stack([sums, more])
    weights, _ = _fit_bounded(columns, wrong, steps, np.array([1.0, 0.0]), 0.0, bounds=bounds)
    return float(weights[1])


def _require_both(wrong: Bools) -> None:
    if wrong.all() or not wrong.any():
        raise FitError(
            "development or stress must hold both right and wrong predictions,"
            f" got {int(wrong.sum())} wrong of {len(wrong)}"
        )


def _balanced(wrong: Bools) -> Floats:
    """Return weights of the steps that sum to 1, half of them for the wrong ones."""
    weights: Floats = 0.5 / np.where(wrong, wrong.sum(), (~wrong).sum())
    return weights


def _fit_bounded(
    signals: Floats,
    wrong: Bools,
    steps: Floats,
    prior: Floats,
    penalty: float,
    *,
    bounds: Bounds | None = None,
) -> tuple[Floats, float]:
    """Minimise the weighted loss under bounds, which scikit-learn does not offer."""
    target = np.where(wrong, 1.0, -1.0)

    def objective(parameters: Floats) -> tuple[float, Floats]:
        weights, bias = parameters[:-1], parameters[-1]
        margin, away = target * (signals @ weights + bias), weights - prior
        loss = (steps * np.logaddexp(0, -margin)).sum() + penalty * away @ away / 2
        pull = -steps * target / (1 + np.exp(np.minimum(margin, 700)))
        return float(loss), np.append(pull @ signals + penalty * away, pull.sum())

    count = signals.shape[1]
    result = minimize(
        objective,
        np.append(prior, 0.0),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds or [(0, None)] * count + [(None, None)],
        options={"maxiter": MAX_ITERATIONS, "ftol": 1e-12, "gtol": 1e-8},
    )
    return result.x[:-1], float(result.x[-1])
