# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from tcuq.errors import InputError
from tcuq.tap import open_tap, record

RNG = np.random.default_rng(9)
INPUTS = RNG.normal(size=(500, 12)) + np.repeat(np.arange(5), 100)[:, None]
NAMES = np.repeat(["walk", "sit", "run", "lie", "stand"], 100)


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    """Scaler, PCA and a logistic regression over five names."""
    made = make_pipeline(StandardScaler(), PCA(4), LogisticRegression())
    made.fit(INPUTS, NAMES)
    return made


def test_a_pipeline_by_itself(pipeline: Pipeline) -> None:
    """predict_proba exactly; features are what the last step is given."""
    tap = open_tap(pipeline)
    stream = record(tap, INPUTS, NAMES)
    assert (stream.kind, tap.layer) == ("probabilities", "pca")
    np.testing.assert_array_equal(stream.posteriors, pipeline.predict_proba(INPUTS))
    np.testing.assert_array_equal(stream.features, pipeline[:-1].transform(INPUTS))


def test_a_pipeline_by_name(pipeline: Pipeline) -> None:
    """A named step's output."""
    stream = record(open_tap(pipeline, "standardscaler"), INPUTS)
    np.testing.assert_array_equal(stream.features, pipeline[0].transform(INPUTS))


def test_labels_become_columns(pipeline: Pipeline) -> None:
    """Names turn into the columns of predict_proba; a name nobody knows is refused."""
    stream = record(open_tap(pipeline), INPUTS, NAMES)
    assert stream.labels is not None
    np.testing.assert_array_equal(pipeline.classes_[stream.labels], NAMES)
    with pytest.raises(InputError, match=r"labels must be among the model's .*got .*'swim'"):
        record(open_tap(pipeline), INPUTS[:1], ["swim"])


def test_numbered_labels_and_unknown_ones() -> None:
    """Classes 1..5 are columns 0..4, and -1 stays unknown."""
    model = LogisticRegression(max_iter=1000).fit(INPUTS, np.repeat(np.arange(1, 6), 100))
    stream = record(open_tap(model), INPUTS[[0, 450, 3]], [1, 5, -1])
    assert stream.labels is not None
    assert stream.labels.tolist() == [0, 4, -1]
    assert stream.features is None


def test_a_classifier_without_probabilities_is_refused() -> None:
    """The message names what is missing."""
    with pytest.raises(InputError, match="must be a torch module or have predict_proba"):
        open_tap(Perceptron().fit(INPUTS, NAMES))
