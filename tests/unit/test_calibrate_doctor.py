# SPDX-License-Identifier: Apache-2.0
"""Each common mistake is named first, in one sentence, and correct data has none of them."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tcuq
from tcuq.demo import demo_stream
from tcuq.errors import CalibrationWarning, FitError, InputError
from tests.fixtures.conformance import probabilities_of
from tests.fixtures.effort import cases

Columns = dict[str, Any]


@cache
def digits() -> tuple[Any, NDArray[Any], NDArray[Any]]:
    """Train an MLP on scikit-learn's digits; return it and the held-out digits."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    images, labels = load_digits(return_X_y=True)
    network = MLPClassifier((24,), max_iter=60, random_state=0, early_stopping=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(images[:800], labels[:800])
    return network, images, labels


def recorded(images: NDArray[Any], labels: NDArray[Any], seed: int) -> Columns:
    """Return three recordings of a shaking camera that looks at each digit for a while."""
    network, *_ = digits()
    rng = np.random.default_rng(seed)
    place = np.repeat(rng.permutation(len(images)), 6)
    shaken = images[place] + rng.normal(0, 2, (len(place), 64))
    hidden = np.maximum(shaken @ network.coefs_[0] + network.intercepts_[0], 0)
    return {
        "posteriors": network.predict_proba(shaken),
        "features": hidden + 0.01 * rng.normal(size=hidden.shape),
        "labels": labels[place],
        "starts": [0, len(place) // 3, 2 * len(place) // 3],
        "kind": "probabilities",
    }


@cache
def of_digits() -> Columns:
    """Return the held-out digits, recorded correctly."""
    _, images, labels = digits()
    return recorded(images[800:], labels[800:], seed=1)


@cache
def of_the_demo() -> Columns:
    """Return the demo's calibration stream."""
    stream = demo_stream("calibration")
    names = ("posteriors", "features", "labels", "health", "starts", "kind")
    return {name: getattr(stream, name) for name in names}


SOURCES: dict[str, Callable[[], Columns]] = {"demo": of_the_demo, "digits": of_digits}


def probabilities(columns: Columns) -> NDArray[Any]:
    """Return the posteriors as probabilities."""
    rows = np.asarray(columns["posteriors"], np.float64)
    return probabilities_of(rows) if columns["kind"] == "logits" else rows


def taken(columns: Columns, steps: Any) -> Columns:
    """Return some steps of the columns that have one row per step."""
    per_step = [name for name in columns if name not in ("kind", "starts")]
    return {name: np.asarray(columns[name])[steps] for name in per_step}


def shuffled(columns: Columns, seed: int = 0) -> Columns:
    """Return the steps in random order."""
    order = np.random.default_rng(seed).permutation(len(columns["posteriors"]))
    return {**taken(columns, order), "kind": columns["kind"]}


def sure(columns: Columns) -> Columns:
    """Return outputs as on training data: correct and confident."""
    classes = probabilities(columns).shape[1]
    rows = np.full((len(columns["labels"]), classes), 1e-6)
    rows[np.arange(len(rows)), columns["labels"]] = 1
    return {
        **columns,
        "posteriors": rows / rows.sum(axis=1, keepdims=True),
        "kind": "probabilities",
    }


def thin(columns: Columns) -> Columns:
    """Spread the probability over 600 classes, one of them ahead by enough for a byte."""
    rows = 0.3 * probabilities(columns)
    rest = np.full((len(rows), 600), 0.7 / 600)
    return {**columns, "posteriors": np.hstack([rows, rest]), "kind": "probabilities"}


def dead(columns: Columns) -> Columns:
    """Make some features constant."""
    features = np.array(columns["features"])
    features[:, :3] = 0
    return {**columns, "features": features}


def one_class(columns: Columns) -> Columns:
    """Make nearly all steps one class."""
    label = probabilities(columns).argmax(axis=1)
    most = np.bincount(label).argmax()
    selected = np.flatnonzero((label == most) | (np.arange(len(label)) % 50 == 0))
    selected = np.sort(np.concatenate([selected, np.repeat(selected[label[selected] == most], 3)]))
    return {**taken(columns, selected), "kind": columns["kind"], "starts": [0, len(selected) // 2]}


WRONG: dict[str, Callable[[Columns], Columns]] = {
    "probabilities_as_logits": lambda c: {**c, "posteriors": probabilities(c), "kind": "logits"},
    "shuffled": shuffled,
    "training_data": sure,
    "classes_beyond_bytes": thin,
    "dead_features": dead,
    "one_class": one_class,
    "one_recording": lambda c: {**c, "starts": None},
    "too_short": lambda c: {**taken(c, slice(300)), "starts": [0, 150], "kind": c["kind"]},
}


def findings(columns: Columns) -> list[str]:
    """Return the names of a fit's findings; check that one warning lists the first five."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        listed = tcuq.fit(tcuq.Stream(**columns)).provenance.findings
    assert len(caught) == bool(listed)
    if listed:
        assert str(caught[0].message).splitlines() == [f.sentence for f in listed[:5]]
    return [finding.name for finding in listed]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("mistake", WRONG)
def test_each_mistake_is_named_first(source: str, mistake: str) -> None:
    """The first finding names the mistake, on the demo's data and on the digits network's."""
    assert findings(WRONG[mistake](SOURCES[source]()))[0] == mistake


@pytest.mark.parametrize("source", SOURCES)
def test_correct_data_has_no_finding_but_in_short_recordings(source: str) -> None:
    """Recordings in order have no finding; cut shorter than a block, they are named as such."""
    assert not set(WRONG) & set(findings(SOURCES[source]()))
    columns = SOURCES[source]()
    cut = {**columns, "starts": range(0, len(columns["posteriors"]), 12)}
    assert findings(cut)[0] == "short_recordings"


@pytest.mark.parametrize("source", SOURCES)
def test_shuffled_steps_are_detected(source: str) -> None:
    """At least 99 of 100 random orders are detected, and the recorded order is not."""
    columns, orders = {**SOURCES[source](), "starts": None}, cases(100)
    named = sum(findings(shuffled(columns, seed))[0] == "shuffled" for seed in range(orders))
    assert named >= 0.99 * orders


@pytest.mark.parametrize("source", SOURCES)
def test_posteriors_that_are_no_probabilities_of_bytes_are_refused(source: str) -> None:
    """Logits get the argument to write; where bytes would name another class, the fit refuses."""
    logits = np.log(probabilities(SOURCES[source]()) + 1e-9)
    with pytest.raises(InputError, match='say kind="logits"'):
        tcuq.Stream(logits, kind="probabilities")
    columns = SOURCES[source]()
    rows = probabilities_of(np.log(probabilities(columns) + 1e-3) / 40)
    flat = np.hstack([rows, np.full((len(rows), 900), rows.mean())])
    columns = {**columns, "posteriors": flat / flat.sum(axis=1, keepdims=True)}
    with pytest.raises(FitError, match="8-bit rounding of the posteriors changes the class"):
        tcuq.fit(tcuq.Stream(**{**columns, "kind": "probabilities"}))


def wandering(steps: int, memory: float, size: float) -> Columns:
    """Return a classifier's stream whose noise level wanders, with this memory in steps."""
    rng = np.random.default_rng(1)
    labels = np.repeat(rng.integers(8, size=steps // 20 + 1), 20)[:steps]
    centres = 1.2 * rng.normal(size=(8, 12))
    keep, level = np.exp(-1 / memory), np.zeros(steps)
    for step, push in enumerate(rng.normal(size=steps - 1) * np.sqrt(1 - keep**2)):
        level[step + 1] = keep * level[step] + push
    noise = rng.normal(size=(steps, 12)) * np.exp(size * level)[:, None]
    features = centres[labels] + noise
    logits = -0.5 * ((features[:, None] - centres) ** 2).sum(axis=2)
    starts = np.arange(0, steps, steps // 4)
    return {"posteriors": logits, "features": features, "kind": "logits", "starts": starts}


def test_a_rate_that_calibration_does_not_support_is_named() -> None:
    """A level that wanders over hundreds of steps warns, a steady one of the same length not."""
    slow, steady = wandering(20_000, 600, 0.4), wandering(20_000, 600, 0.0)
    with pytest.warns(CalibrationWarning, match=r"supports about one in .* alarm=AlarmOptions"):
        tcuq.fit(tcuq.Stream(**slow))
    profile = tcuq.fit(tcuq.Stream(**steady))
    figures = profile.provenance.figures
    assert figures["alarm.rehearsed_steps_between_false_alarms"] >= 2**19


def test_a_short_calibration_does_not_support_a_rare_alarm() -> None:
    """2,000 steps say nothing of one false alarm in a million; of one in 2^15 they do."""
    short = tcuq.Stream(**wandering(2_000, 3_000, 0.0))
    with pytest.warns(CalibrationWarning, match=r"Record 4 times as long \(8,000 steps\)"):
        tcuq.fit(short)
    tcuq.fit(short, alarm=tcuq.AlarmOptions(1 << 15))


def test_a_label_that_hardly_changes_is_named() -> None:
    """Classes that were met once, or not at all, will look like a change of the stream."""
    columns = wandering(20_000, 3_000, 0.0)
    order = np.argsort(columns["posteriors"].argmax(axis=1), kind="stable")
    sorted_by_label = columns | {name: columns[name][order] for name in ("posteriors", "features")}
    with pytest.warns(CalibrationWarning, match="The label changes only 7 times|supports about"):
        tcuq.fit(tcuq.Stream(**sorted_by_label))


def test_one_sigmoid_as_logits_is_named_first() -> None:
    """A single output between 0 and 1 that is declared as a logit."""
    rng = np.random.default_rng(0)
    spoken = np.repeat(rng.random(60) < 0.3, 20)
    probability = np.clip(np.where(spoken, 0.9, 0.1) + rng.normal(0, 0.05, 1200), 0, 1)
    columns: Columns = {"posteriors": probability, "kind": "logits", "starts": [600]}
    columns["classes"] = ["no", "yes"]
    assert findings(columns)[0] == "probabilities_as_logits"
