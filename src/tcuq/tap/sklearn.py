# SPDX-License-Identifier: Apache-2.0
"""scikit-learn, and anything with its methods: an object, never a file."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq._conversion import as_array, as_numbers
from tcuq.errors import InputError
from tcuq.stream import Kind
from tcuq.tap.batches import is_loader
from tcuq.tap.feeding import input_errors_of
from tcuq.tap.graph import agreed_kind, choose

Array = NDArray[Any]
BATCH = 4096
HIDDEN, INPUT = "last hidden layer", "input"
METHODS = ("predict_proba", "score_samples", "predict")
UNSUPERVISED = ("outlierdetector", "densityestimator")


class SklearnTap:
    """A fitted estimator or pipeline.

    Parameters
    ----------
    estimator
        A classifier with ``predict_proba``; an outlier detector or a density, whose
        ``score_samples`` becomes the output; a regressor with ``predict``; or with the kind
        "outputs" any object with ``predict``.
    layer
        The pipeline step whose output becomes features. If None: of a multi-layer perceptron,
        alone or at the end of a pipeline, the activations of its last hidden layer; of any other
        pipeline, the transformed input of its last step. Any other classifier alone, such as a
        forest, has no layer and gives no features: "input" records its inputs.
    kind
        "outputs" of an object of your own, which does not tell that it is a regressor.
    """

    kind: Kind | None
    batch = BATCH

    def __init__(
        self,
        estimator: Any,  # noqa: ANN401 - duck-typed
        layer: str | None = None,
        *,
        kind: Kind | None = None,
    ) -> None:
        self._method = output_method(estimator, kind)
        known: Kind = "probabilities" if self._method == "predict_proba" else "outputs"
        self.kind = agreed_kind(kind, known)
        self._estimator = estimator
        steps = [name for name, _ in getattr(estimator, "steps", ())]
        self._last = estimator[-1] if steps else estimator
        hidden = layer is None and hasattr(self._last, "coefs_") and len(self._last.coefs_) > 1
        before = steps[:-1] or [INPUT]
        self.layer: str | None = None
        self._transform = None
        if hidden:
            self.layer = HIDDEN
        elif layer is not None or len(steps) > 1:
            self.layer = before[-1] if layer is None else choose(layer, before, "layer")
        if len(steps) > 1 and self.layer is not None:
            self._transform = estimator[: -1 if hidden else steps.index(self.layer) + 1]

    @property
    def labels(self) -> Array | None:
        """The classifier's label of each column."""
        classes = getattr(self._estimator, "classes_", None)
        return None if classes is None or self.kind == "outputs" else np.asarray(classes)

    def run(self, inputs: Any) -> tuple[Array, Array | None]:  # noqa: ANN401 - the estimator's type
        """Return the posteriors of a batch, and the features of the chosen step."""
        if is_loader(inputs):
            raise InputError(f"inputs must be one batch, got {type(inputs).__name__}")
        with input_errors_of(type(self._estimator).__name__):
            output = getattr(self._estimator, self._method)(inputs)
            posteriors = as_numbers(output, f"output of {self._method}")
            if self.layer is None:
                return posteriors, None
            layer = inputs if self._transform is None else self._transform.transform(inputs)
        dense = layer.toarray() if hasattr(layer, "toarray") else layer
        rows = as_numbers(as_array(dense, "features"), f"layer {self.layer!r}")
        return posteriors, _last_hidden(self._last, rows) if self.layer == HIDDEN else rows


def output_method(estimator: Any, wanted: Kind | None) -> str:  # noqa: ANN401 - duck-typed
    """Return the method whose result a monitor watches."""
    last = estimator[-1] if getattr(estimator, "steps", ()) else estimator
    kind = str(_type_of(last)).lower().replace("_", "")
    methods = METHODS if wanted == "outputs" and not kind else METHODS[:2]
    if kind in UNSUPERVISED:
        methods = methods[::-1]  # of a mixture, probabilities are of components, not of classes
    for method in METHODS[2:] if kind == "regressor" else methods:
        if callable(getattr(estimator, method, None)):
            return method
    raise InputError(
        "estimator must have predict_proba, or be a regressor or an outlier detector, got"
        f" {type(last).__name__}: of some classifiers, such as SVC, predict_proba is an option; of"
        ' an object of your own whose predict gives numbers, say kind="outputs"'
    )


def _type_of(estimator: Any) -> object:  # noqa: ANN401 - duck-typed
    """Return scikit-learn's name for what it is; a class of its own has none."""
    tags = getattr(estimator, "__sklearn_tags__", None)
    return tags().estimator_type if callable(tags) else getattr(estimator, "_estimator_type", "")


def _last_hidden(perceptron: Any, rows: Array) -> Array:  # noqa: ANN401 - untyped library
    """Return the activations of a multi-layer perceptron's last hidden layer."""
    activate: Any = {
        "identity": lambda x: x,
        "logistic": lambda x: 1 / (1 + np.exp(-x)),
        "tanh": np.tanh,
        "relu": lambda x: np.maximum(x, 0),
    }[perceptron.activation]
    layers = zip(perceptron.coefs_[:-1], perceptron.intercepts_[:-1], strict=True)
    for weights, bias in layers:
        rows = activate(rows @ weights + bias)
    return rows
