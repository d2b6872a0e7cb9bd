# SPDX-License-Identifier: Apache-2.0
"""Temperature scaling: one number that divides the logits, fitted on labelled steps.

C. Guo and others, On calibration of modern neural networks, 2017; TCUQ-TS in the paper.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from tcuq._columns import checked_labels
from tcuq.errors import InputError
from tcuq.stream import checked_posteriors

LARGEST_LOG = 3.0  # temperatures from 1/20 to 20
LARGEST_LOSS = -math.log(1e-12)  # of one step, as in tcuq.evaluation


def fit_temperature(logits: ArrayLike, labels: ArrayLike) -> float:
    """Return the temperature with the lowest negative log-likelihood of the labels.

    Above 1 the network was too confident, below 1 not confident enough. Use it in
    ``tcuq.tap.record(..., temperature=...)``. The loss of one step is bounded by 27.6 nats, so that
    a few wrong labels do not set the temperature of a confident network.

    Parameters
    ----------
    logits
        (steps, classes), in distribution, not used in training.
    labels
        The true class of each step, a number; steps of no class, -1 or -2, do not count.

    Examples
    --------
    >>> import numpy as np
    >>> import tcuq
    >>> labels = np.arange(1000) % 2
    >>> right = np.arange(1000) % 10 > 0  # 90 % of the predictions, at a confidence of 98 %
    >>> logits = 4.0 * (np.arange(2) == np.where(right, labels, 1 - labels)[:, None])
    >>> round(tcuq.fit_temperature(logits, labels), 2)
    1.82
    """
    rows = checked_posteriors(logits, "logits").astype(np.float64)
    known = checked_labels(labels, len(rows), rows.shape[1], None)
    if known is None or known.max(initial=-1) < 0:
        raise InputError("labels must be known at one step at least, got none")
    steps = known >= 0
    rows, columns = rows[steps], known[steps, np.newaxis]

    def loss(log_temperature: float) -> float:
        logs = log_softmax(rows / math.exp(log_temperature), axis=1)
        losses = -np.take_along_axis(logs, columns, axis=1)
        return float(np.minimum(losses, LARGEST_LOSS).mean())

    optimum = minimize_scalar(loss, bounds=(-LARGEST_LOG, LARGEST_LOG), method="bounded")
    return math.exp(optimum.x)
