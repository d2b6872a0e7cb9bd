# SPDX-License-Identifier: Apache-2.0
"""A scikit-learn classifier with a reject option."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import tcuq
from tcuq.adapters.sklearn import MonitoredClassifier
from tcuq.errors import InputError

Array = NDArray[Any]


def recorded(steps: int, seed: int, moved: float = 0.0) -> tuple[Array, Array]:
    """Return inputs in three classes that stay for ten steps, and their labels."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.integers(0, 3, steps // 10), 10)
    return rng.normal(2.5 * np.eye(3)[labels] + moved, 1.0), labels


# Without the check of other array libraries, which is off unless SciPy is told before its import.
CHECKS = [
    pytest.param(estimator, check, id=check.func.__name__)
    for estimator, check in estimator_checks_generator(MonitoredClassifier(LogisticRegression()))
    if check.func.__name__ != "check_array_api_input"
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learns_own_checks_hold(estimator: Any, check: Callable[[Any], None]) -> None:
    """Every check of scikit-learn that applies to a classifier holds."""
    check(estimator)


@pytest.fixture(scope="module")
def model() -> MonitoredClassifier:
    """A pipeline that was trained and calibrated."""
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    trained = MonitoredClassifier(pipeline).fit(*recorded(1000, 0))
    return trained.calibrate(recorded(4000, 1)[0], starts=range(0, 4000, 500))


def test_it_abstains_and_alarms(model: MonitoredClassifier) -> None:
    """Accepted labels are right more often than all; moved inputs are rejected and alarmed."""
    inputs, labels = recorded(2000, 2)
    answers = model.predict_or_abstain(inputs)
    accepted = answers != -1
    assert 0.75 < accepted.mean() < 0.99
    assert (answers == labels)[accepted].mean() > (model.predict(inputs) == labels).mean()
    moved, _ = recorded(2000, 3, moved=4.0)
    assert (model.predict_or_abstain(moved) == -1).mean() > 0.5
    assert model.monitor(moved).alarms


def test_it_decides_as_the_monitor_does(model: MonitoredClassifier) -> None:
    """A saved profile gives the same outcomes, as it does on a device."""
    inputs, _ = recorded(500, 4)
    scaled = model.estimator_[:-1].transform(inputs)
    trace = tcuq.Monitor(model.profile_).run(model.predict_proba(inputs), scaled)
    assert np.array_equal(trace.outcome, model.monitor(inputs).outcome)


def test_clones_and_grids_work() -> None:
    """A clone keeps its options and forgets what it learned; a grid searches the estimator's."""
    inputs, labels = recorded(600, 5)
    original = MonitoredClassifier(LogisticRegression(), alpha=0.2, reject_label=9)
    copy = clone(original.fit(inputs, labels))
    assert (copy.alpha, copy.reject_label) == (0.2, 9)
    assert not hasattr(copy, "estimator_")
    grid = GridSearchCV(copy, {"estimator__C": [0.1, 1.0]}, cv=2).fit(inputs, labels)
    assert grid.best_estimator_.estimator_.C in (0.1, 1.0)


def test_calls_out_of_order_are_refused() -> None:
    """Monitoring needs `calibrate`, and a number cannot stand among labels of text."""
    inputs, labels = recorded(600, 6)
    names = np.array(["sit", "walk", "run"])[labels]
    classifier = MonitoredClassifier(LogisticRegression()).fit(inputs, names)
    with pytest.raises(NotFittedError, match="calibrate"):
        classifier.predict_or_abstain(inputs)
    classifier.calibrate(recorded(4000, 7)[0], starts=range(0, 4000, 500))
    with pytest.raises(InputError, match="reject_label must have the type"):
        classifier.predict_or_abstain(inputs)
    classifier.reject_label = "unsure"
    assert set(classifier.predict_or_abstain(inputs)) <= {"sit", "walk", "run", "unsure"}
