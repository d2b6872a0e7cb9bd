# SPDX-License-Identifier: Apache-2.0
"""scikit-learn models, and batches of every container that taps take."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.mixture import GaussianMixture
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import OneClassSVM

from tcuq.errors import InputError
from tcuq.tap import open_tap, record
from tcuq.tap.batches import batches
from tcuq.tap.sklearn import SklearnTap

RNG = np.random.default_rng(9)
INPUTS = RNG.normal(size=(500, 12)) + np.repeat(np.arange(5), 100)[:, None]
CLASS_NAMES = np.repeat(["walk", "sit", "run", "lie", "stand"], 100)
TEN_VALUES = np.arange(10.0).reshape(5, 2)
CONTAINERS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "array": (TEN_VALUES, np.asarray),
    "list": (TEN_VALUES.tolist(), np.asarray),
    "tensor": (torch.tensor(TEN_VALUES), np.asarray),
    "DataFrame": (pd.DataFrame(TEN_VALUES, index=[9, 7, 5, 3, 1]), pd.DataFrame.to_numpy),
    "Arrow table": (pa.table(pd.DataFrame(TEN_VALUES, columns=["a", "b"])), np.asarray),
    "sparse": (sparse.csr_array(TEN_VALUES), lambda part: part.toarray()),
    "loader": (iter([TEN_VALUES[:1], TEN_VALUES[1:]]), np.asarray),
    "pairs": (iter([(TEN_VALUES[:1], [1]), (TEN_VALUES[1:], [1] * 4)]), np.asarray),
    "dictionary": ({"x": TEN_VALUES, "labels": range(5)}, lambda part: part["x"]),
}


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    """Scaler, PCA and a logistic regression over five names."""
    pipeline = make_pipeline(StandardScaler(), PCA(4), LogisticRegression())
    pipeline.fit(INPUTS, CLASS_NAMES)
    return pipeline


def test_a_pipeline_by_itself_and_by_name(pipeline: Pipeline) -> None:
    """predict_proba exactly; features are what the last step is given, or a named step's output."""
    tap = open_tap(pipeline)
    stream = record(tap, INPUTS, CLASS_NAMES)
    assert (stream.kind, tap.layer) == ("probabilities", "pca")
    np.testing.assert_array_equal(stream.posteriors, pipeline.predict_proba(INPUTS))
    np.testing.assert_array_equal(stream.features, pipeline[:-1].transform(INPUTS))
    stream = record(open_tap(pipeline, "standardscaler"), INPUTS)
    np.testing.assert_array_equal(stream.features, pipeline[0].transform(INPUTS))


def test_labels_become_columns(pipeline: Pipeline) -> None:
    """Names turn into the columns of predict_proba; a name nobody knows is refused."""
    stream = record(open_tap(pipeline), INPUTS, CLASS_NAMES)
    assert stream.labels is not None
    np.testing.assert_array_equal(pipeline.classes_[stream.labels], CLASS_NAMES)
    assert stream.class_names == ("lie", "run", "sit", "stand", "walk")
    with pytest.raises(InputError, match=r"labels must be among classes .*got 'swim'"):
        record(open_tap(pipeline), INPUTS[:1], ["swim"])


def test_numbered_and_boolean_labels_become_columns() -> None:
    """Classes 1..5 and booleans are columns from 0; -1 stays unknown, -2 out of distribution."""
    model = LogisticRegression(max_iter=1000).fit(INPUTS, np.repeat(np.arange(1, 6), 100))
    stream = record(open_tap(model), INPUTS[[0, 450, 3, 4]], [1, 5, -1, -2])
    assert np.asarray(stream.labels).tolist() == [0, 4, -1, -2]
    assert stream.class_names == ("1", "2", "3", "4", "5")
    assert stream.features is None
    with pytest.raises(InputError, match="labels must be among the model's"):
        record(open_tap(model), INPUTS[:1], [0])
    wanted = CLASS_NAMES == "walk"
    model = LogisticRegression().fit(INPUTS, wanted)
    stream = record(open_tap(model), INPUTS, wanted)
    assert np.asarray(stream.labels).tolist() == wanted.astype(int).tolist()
    assert stream.class_names == ("False", "True")


def test_a_classifier_without_probabilities_is_refused() -> None:
    """The message names what is missing."""
    model = Perceptron().fit(INPUTS, np.repeat(np.arange(5), 100))
    with pytest.raises(InputError, match=r"must have predict_proba, or be a regressor.*Perceptron"):
        open_tap(model)


WITHOUT_CLASSES = {
    "predict": [
        LinearRegression(),
        make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(4,))),
    ],
    "score_samples": [
        IsolationForest(n_estimators=20),
        OneClassSVM(),
        GaussianMixture(2),
    ],
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("method", "model"),
    [(method, model) for method, models in WITHOUT_CLASSES.items() for model in models],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_a_model_without_classes_gives_outputs(method: str, model: Any) -> None:
    """A regressor's values, or the score of an outlier detector or a density; never classes."""
    model.fit(INPUTS, INPUTS[:, 0])
    stream = record(open_tap(model), INPUTS)
    assert (stream.kind, stream.classes) == ("outputs", 0)
    np.testing.assert_array_equal(stream.posteriors[:, 0], getattr(model, method)(INPUTS))


class OwnRegressor:
    """An object that has predict alone, and does not tell what it is."""

    def predict(self, inputs: Any) -> Any:
        """Return the first column."""
        return np.asarray(inputs)[:, 0]


def test_an_object_of_ones_own_must_say_that_it_gives_outputs() -> None:
    """Predict may give classes or values: kind="outputs" tells, and contradicts no classifier."""
    with pytest.raises(InputError, match='say kind="outputs"'):
        open_tap(OwnRegressor())
    stream = record(open_tap(OwnRegressor(), kind="outputs"), INPUTS)
    np.testing.assert_array_equal(stream.posteriors[:, 0], INPUTS[:, 0])
    for model in (Perceptron(), KMeans(2)):
        with pytest.raises(InputError, match="estimator must have predict_proba"):
            open_tap(model.fit(INPUTS, CLASS_NAMES), kind="outputs")
    with pytest.raises(InputError, match="have predict_proba, score_samples, predict, got"):
        open_tap(DBSCAN())
    with pytest.raises(InputError, match="kind must be 'outputs', as the model ends"):
        open_tap(LinearRegression().fit(INPUTS, INPUTS[:, 0]), kind="logits")


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
@pytest.mark.parametrize("piped", [False, True])
def test_a_perceptron_gives_its_last_hidden_layer(activation: str, piped: bool) -> None:
    """The output layer of the network makes predict_proba of the features."""
    network = MLPClassifier((8, 6), activation=activation, max_iter=20, random_state=0)
    model = make_pipeline(StandardScaler(), network) if piped else network
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged
        model.fit(INPUTS, CLASS_NAMES)
    tap = open_tap(model)
    stream = record(tap, INPUTS)
    assert (tap.layer, stream.width) == ("last hidden layer", 6)
    logits = stream.features @ network.coefs_[-1] + network.intercepts_[-1]
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, model.predict_proba(INPUTS), atol=1e-9)
    if piped:
        assert record(open_tap(model, "standardscaler"), INPUTS).width == 12


def test_a_forest_gives_its_inputs_if_asked() -> None:
    """A forest has no layer: no features by itself, its inputs by name, in a pipeline too."""
    forest = RandomForestClassifier(5, random_state=0).fit(INPUTS, CLASS_NAMES)
    assert record(open_tap(forest), INPUTS).features is None
    named = record(open_tap(forest, "input"), INPUTS)
    np.testing.assert_array_equal(named.features, INPUTS)
    with pytest.raises(InputError, match=r"layer must be one of the model's, such as \['input'\]"):
        open_tap(forest, "leaves")
    piped = make_pipeline(StandardScaler(), forest).fit(INPUTS, CLASS_NAMES)
    np.testing.assert_array_equal(
        record(open_tap(piped), INPUTS).features, piped[:-1].transform(INPUTS)
    )


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Measurements beside a column of text, and an index of its own."""
    frame = pd.DataFrame(INPUTS, columns=[f"x{i}" for i in range(12)])
    frame["site"] = np.where(np.arange(500) % 3 == 0, "roof", "hall")
    return frame.set_index(np.arange(500) * 10)


def test_a_data_frame_reaches_the_pipeline_as_one(table: pd.DataFrame) -> None:
    """A ColumnTransformer finds its columns by name, batch after batch."""
    columns = make_column_transformer(
        (StandardScaler(), ["x0", "x3"]), (OneHotEncoder(), ["site"]), sparse_threshold=1.0
    )
    model = make_pipeline(columns, LogisticRegression()).fit(table, CLASS_NAMES)
    tap = SklearnTap(model)
    tap.batch = 64
    stream = record(tap, table, pd.Series(CLASS_NAMES, index=table.index))
    np.testing.assert_array_equal(stream.posteriors, model.predict_proba(table))
    assert (stream.width, stream.labelled) == (4, 1.0)


def test_texts_and_sparse_rows() -> None:
    """A list of texts goes to a vectoriser as it is, a sparse matrix to a classifier."""
    texts = [f"{name} quickly" for name in CLASS_NAMES]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, CLASS_NAMES)
    stream = record(open_tap(model), texts, CLASS_NAMES)
    np.testing.assert_array_equal(stream.posteriors, model.predict_proba(texts))
    assert stream.width == 6
    again = record(open_tap(model[-1]), model[0].transform(texts), CLASS_NAMES)
    np.testing.assert_array_equal(again.posteriors, stream.posteriors)


def test_inputs_that_the_model_cannot_take_are_refused(pipeline: Pipeline) -> None:
    """Columns that are missing, and a loader in the place of a batch, are refused in one line."""
    with pytest.raises(InputError, match=r"refused by Pipeline: X has 3 features"):
        record(open_tap(pipeline), INPUTS[:, :3])
    with pytest.raises(InputError, match="inputs must be one batch, got generator"):
        open_tap(pipeline).run(row for row in INPUTS)


@pytest.mark.parametrize("case", CONTAINERS)
def test_rows_keep_order_and_container(case: str) -> None:
    """Cut in any way, the parts are the rows, and a table's part is a table."""
    inputs, rows = CONTAINERS[case]
    parts = list(batches(inputs, 2))
    assert all(batch.steps <= 2 for batch in parts)
    np.testing.assert_array_equal(
        np.concatenate([rows(batch.inputs) for batch in parts]), TEN_VALUES
    )
    assert sum(batch.steps for batch in parts) == 5
    if case in ("DataFrame", "Arrow table", "sparse", "tensor"):
        assert type(parts[0].inputs) is type(inputs)
    labelled = case in ("pairs", "dictionary")
    assert all((batch.labels is not None) == labelled for batch in parts)


BAD: dict[str, tuple[Any, str]] = {
    "no steps": (np.empty((0, 3)), r"the shape \(steps, \.\.\.\), got \(0, 3\)"),
    "a number": (3.0, r"the shape \(steps, \.\.\.\), got \(\)"),
    "a text": ("rows.csv", r"the shape \(steps, \.\.\.\), got \(\)"),
    "an empty dictionary": ({}, r"the shape \(steps, \.\.\.\), got \(\)"),
    "two lengths": (
        {"a": TEN_VALUES, "b": TEN_VALUES[:3]},
        r"equally many steps, got {'a': 5, 'b': 3}",
    ),
    "ragged tokens": ({"input_ids": [[1, 2], [1]]}, "input_ids must be a rectangular array"),
    "three members": (
        iter([(TEN_VALUES, TEN_VALUES, TEN_VALUES)]),
        r"inputs or \(inputs, labels\), got 3 members",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_inputs_without_steps_are_refused(case: str) -> None:
    """The message is one line with the rule."""
    inputs, rule = BAD[case]
    with pytest.raises(InputError, match=rule) as caught:
        list(batches(inputs, 2))
    assert "\n" not in str(caught.value)
