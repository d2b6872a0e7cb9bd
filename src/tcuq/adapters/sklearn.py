# SPDX-License-Identifier: Apache-2.0
"""scikit-learn: a classifier with a reject option. Extra `fit`."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq._extras import import_extra
from tcuq.calibrate import fit as fit_profile
from tcuq.decision import Trace
from tcuq.errors import InputError
from tcuq.monitor import Monitor
from tcuq.stream import Stream
from tcuq.tap import open_tap, record

if TYPE_CHECKING:
    from tcuq.profile import Profile

base: Any = import_extra("sklearn.base", "fit")
validation: Any = import_extra("sklearn.utils.validation", "fit")


class MonitoredClassifier(base.MetaEstimatorMixin, base.ClassifierMixin, base.BaseEstimator):  # type: ignore[misc]
    """A classifier that may abstain.

    ``fit`` trains the estimator. ``calibrate`` then fits a monitor on inputs like those in the
    field, in recorded order and not used in training; it needs no labels. ``predict`` is the
    estimator's, ``predict_or_abstain`` the one with the reject option.

    Parameters
    ----------
    estimator
        A classifier with ``predict_proba``.
    alpha, budget
        As in ``tcuq.fit``: how often the monitor wants to abstain on usual data, and how often it
        may.
    reject_label
        What ``predict_or_abstain`` returns where it abstains; of the type of the labels. None means
        −1 for numbers and ``"withheld"`` for text.

    Attributes
    ----------
    estimator_
        The trained estimator.
    profile_
        The monitor's profile, after ``calibrate``; ``profile_.save`` and ``tcuq export`` bring it
        to a device.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(rng.integers(0, 2, 400), 5)
    >>> X = rng.normal(3 * y, 1.0)[:, None]
    >>> model = MonitoredClassifier(LogisticRegression()).fit(X[:1000], y[:1000])
    >>> model = model.calibrate(X[1000:], starts=range(0, 1000, 250))
    >>> sorted(set(model.predict_or_abstain(X[1000:]).tolist()))
    [-1, 0, 1]
    """

    def __init__(
        self,
        estimator: Any,  # noqa: ANN401 - duck
        *,
        alpha: float = 0.1,
        budget: float = 0.15,
        reject_label: Any = None,  # noqa: ANN401 - of the type of the labels
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.budget = budget
        self.reject_label = reject_label

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:  # noqa: ANN401, N803 - scikit-learn's
        """Train a clone of the estimator."""
        self.estimator_: Any = base.clone(self.estimator).fit(X, y, **fit_params)
        self.classes_: Any = self.estimator_.classes_
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_: int = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_: Any = self.estimator_.feature_names_in_
        return self

    def calibrate(self, X: Any, *, starts: ArrayLike | None = None) -> Self:  # noqa: ANN401, N803
        """Fit the monitor on inputs in recorded order; `starts` are the recordings' first rows."""
        stream = self._stream(X, starts)
        self.profile_: Profile = fit_profile(stream, alpha=self.alpha, budget=self.budget)
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401, N803
        """Return the estimator's labels, without the monitor."""
        validation.check_is_fitted(self, "estimator_")
        labels: NDArray[Any] = self.estimator_.predict(X)
        return labels

    def predict_proba(self, X: Any) -> NDArray[Any]:  # noqa: ANN401, N803
        """Return the estimator's probabilities."""
        validation.check_is_fitted(self, "estimator_")
        probabilities: NDArray[Any] = self.estimator_.predict_proba(X)
        return probabilities

    def monitor(self, X: Any, *, starts: ArrayLike | None = None) -> Trace:  # noqa: ANN401, N803
        """Run a new monitor over consecutive rows: risk, outcome and alarms."""
        validation.check_is_fitted(self, "profile_", msg="run calibrate(X) before monitoring")
        return Monitor(self.profile_).run(self._stream(X, starts))

    def predict_or_abstain(
        self,
        X: Any,  # noqa: ANN401, N803
        *,
        starts: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Return labels, and `reject_label` where a new monitor does not accept them."""
        trace = self.monitor(X, starts=starts)
        text = isinstance(self.classes_[0], str)
        default = "withheld" if text else -1
        rejected = np.asarray(default if self.reject_label is None else self.reject_label)
        if (rejected.dtype.kind in "US") != text:
            raise InputError(
                f"reject_label must have the type of the labels, {self.classes_.dtype}, got"
                f" {self.reject_label!r}"
            )
        return np.where(trace.withheld, rejected, self.classes_[trace.label])

    def _stream(self, X: Any, starts: ArrayLike | None) -> Stream:  # noqa: ANN401, N803
        validation.check_is_fitted(self, "estimator_")
        return record(open_tap(self.estimator_), X, starts=starts)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's
        tags = super().__sklearn_tags__()
        tags.input_tags = base.clone(self.estimator).__sklearn_tags__().input_tags
        return tags
