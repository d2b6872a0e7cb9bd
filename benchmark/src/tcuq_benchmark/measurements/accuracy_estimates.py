# SPDX-License-Identifier: Apache-2.0
"""Estimates of accuracy without labels of the stream: ATC, and CBPE by NannyML or our own.

Each is fitted on labelled calibration steps and gives every step a chance of being right, whose
mean over a stretch is the estimated accuracy.
"""

import math
import os
import warnings
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from tcuq_benchmark.data.samples import Ints

Floats = NDArray[np.float64]


class Estimator(Protocol):
    """An estimate of accuracy from the network's posteriors."""

    def fit(self, posteriors: Floats, labels: Ints) -> None:
        """Learn from calibration steps and their true classes."""

    def chance_of_right(self, posteriors: Floats) -> Floats:
        """Return each step's chance that the predicted class is right."""


@dataclass(slots=True)
class Atc:
    """Average thresholded confidence: the share of steps above a threshold of confidence.

    S. Garg and others, Leveraging unlabeled data to predict out-of-distribution performance, 2022.
    """

    threshold_: float = field(default=0.0, init=False)

    def fit(self, posteriors: Floats, labels: Ints) -> None:
        """Choose the threshold that as many calibration steps fall below as are wrong."""
        error = float((posteriors.argmax(axis=1) != labels).mean())
        self.threshold_ = float(np.quantile(posteriors.max(axis=1), error))

    def chance_of_right(self, posteriors: Floats) -> Floats:
        """Return 1 above the threshold, else 0."""
        above: Floats = (posteriors.max(axis=1) > self.threshold_).astype(np.float64)
        return above


@dataclass(slots=True)
class OwnCbpe:
    """Confidence calibrated by isotonic regression: CBPE in short, without NannyML."""

    calibrator_: IsotonicRegression = field(
        default_factory=lambda: IsotonicRegression(out_of_bounds="clip"), init=False
    )

    def fit(self, posteriors: Floats, labels: Ints) -> None:
        """Fit the regression of right predictions on confidence."""
        self.calibrator_.fit(posteriors.max(axis=1), posteriors.argmax(axis=1) == labels)

    def chance_of_right(self, posteriors: Floats) -> Floats:
        """Return the calibrated confidence."""
        chance: Floats = self.calibrator_.predict(posteriors.max(axis=1))
        return chance


@dataclass(slots=True)
class NannyCbpe:
    """Confidence-based performance estimation by NannyML, which calibrates every class."""

    estimator_: Any = field(default=None, init=False)

    def fit(self, posteriors: Floats, labels: Ints) -> None:
        """Fit NannyML's estimator; hold the steps' chances against its own estimate."""
        nannyml = _quiet_nannyml()
        columns = {str(label): f"p{label}" for label in range(posteriors.shape[1])}
        self.estimator_ = nannyml.CBPE(
            metrics=["accuracy"],
            y_pred_proba=columns,
            y_pred="predicted",
            y_true="label",
            problem_type="classification_multiclass",
            chunk_number=1,
        )
        reference = _table(posteriors)
        reference["label"] = labels.astype(str)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.estimator_.fit(reference)
            chunk = self.estimator_.estimate(_table(posteriors))
        estimated = float(chunk.filter(period="analysis").to_df()["accuracy", "value"].iloc[0])
        mean = float(self.chance_of_right(posteriors).mean())
        if not math.isclose(mean, estimated, abs_tol=1e-9):
            raise ArithmeticError(f"NannyML estimates {estimated}, the mean of its steps is {mean}")

    def chance_of_right(self, posteriors: Floats) -> Floats:
        """Return the calibrated posterior of each predicted class.

        Its mean is what `estimate` returns for a chunk; a chunk of one step each would take hours.
        """
        from nannyml.performance_estimation.confidence_based import cbpe

        own = self.estimator_
        table = cbpe._calibrate_predicted_probabilities(  # noqa: SLF001 - see above
            _table(posteriors),
            own.y_true,
            own.y_pred_proba,
            own._calibrators,  # noqa: SLF001
        )
        calibrated = table[list(own.y_pred_proba.values())].to_numpy(np.float64)
        chance: Floats = calibrated[np.arange(len(calibrated)), posteriors.argmax(axis=1)]
        return chance


def _table(posteriors: Floats) -> Any:  # noqa: ANN401 - pandas has no types here
    """Return a data frame of posteriors and the predicted class."""
    import pandas as pd

    table = pd.DataFrame({f"p{label}": column for label, column in enumerate(posteriors.T)})
    table["predicted"] = posteriors.argmax(axis=1).astype(str)
    return table


def _quiet_nannyml() -> Any:  # noqa: ANN401 - a module
    """Import NannyML without its reports of usage and its dependencies' warnings."""
    os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nannyml
    return nannyml
