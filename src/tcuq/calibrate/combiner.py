# SPDX-License-Identifier: Apache-2.0
"""Weights from labels: class-balanced, L2-regularised logistic regression on "was it wrong?"."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from tcuq.errors import FitError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

STRENGTH = 1.0  # the inverse of the L2 penalty, as scikit-learn's C
MAX_ITERATIONS = 1000


def fit_logistic(
    signals: Floats, wrong: Bools, signs: Literal["free", "monotone"]
) -> tuple[Floats, float]:
    """Return weights and bias; `monotone` keeps the weights at least 0 (the bias stays free)."""
    if wrong.all() or not wrong.any():
        raise FitError(
            "development must hold both right and wrong labelled predictions,"
            f" got {int(wrong.sum())} wrong of {len(wrong)}"
        )
    if signs == "free":
        model = LogisticRegression(
            C=STRENGTH, class_weight="balanced", max_iter=MAX_ITERATIONS, tol=1e-8
        ).fit(signals, wrong)
        return model.coef_[0], float(model.intercept_[0])
    return _fit_bounded(signals, wrong)


def _fit_bounded(signals: Floats, wrong: Bools) -> tuple[Floats, float]:
    """Fit the same objective under bounds, which scikit-learn does not offer."""
    target = np.where(wrong, 1.0, -1.0)
    balance = len(wrong) / (2 * np.where(wrong, wrong.sum(), (~wrong).sum()))

    def objective(parameters: Floats) -> tuple[float, Floats]:
        weights, bias = parameters[:-1], parameters[-1]
        margin = target * (signals @ weights + bias)
        loss = STRENGTH * (balance * np.logaddexp(0, -margin)).sum() + weights @ weights / 2
        pull = -STRENGTH * balance * target / (1 + np.exp(np.minimum(margin, 700)))
        return float(loss), np.append(pull @ signals + weights, pull.sum())

    count = signals.shape[1]
    result = minimize(
        objective,
        np.zeros(count + 1),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * count + [(None, None)],
        options={"maxiter": MAX_ITERATIONS, "ftol": 1e-12, "gtol": 1e-8},
    )
    return result.x[:-1], float(result.x[-1])
