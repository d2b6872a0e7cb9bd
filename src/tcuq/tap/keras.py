# SPDX-License-Identifier: Apache-2.0
"""Keras: a Sequential or Functional model, tapped at the tensor its last layer reads."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq._extras import import_extra
from tcuq.errors import InputError
from tcuq.stream import Kind
from tcuq.tap.feeding import input_errors_of, named_arrays
from tcuq.tap.graph import agreed_kind, choose

Array = NDArray[Any]
BATCH = 64
ENDINGS: dict[str | None, Kind] = {
    "softmax": "probabilities",
    "sigmoid": "probabilities",
}


def is_keras(model: object) -> bool:
    """Tell whether it is a Keras model; with the torch backend it is a torch module, too."""
    return any(
        c.__module__.startswith("keras.") and c.__name__ == "Model" for c in type(model).mro()
    )


def load_keras(path: str | os.PathLike[str]) -> Any:  # noqa: ANN401 - a model
    """Read a `.keras` file in Keras' safe mode, which refuses code in the file."""
    try:
        keras = import_extra("keras", "keras")
    except ModuleNotFoundError as error:
        if error.name == "keras" or error.name is None:
            raise
        raise InputError(
            f"Keras needs its backend {error.name}, which is not installed: install it, or choose"
            " another with the environment variable KERAS_BACKEND, such as torch"
        ) from None
    try:
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # from the archive, the configuration or the weights
        reason = next(iter(str(error).splitlines()), type(error).__name__)[:200]
        raise InputError(f"{path}: not a model that Keras can load: {reason}") from error


class KerasTap:
    """A `keras.Model`, Sequential or Functional, on any backend.

    Parameters
    ----------
    model
        The model; it is run in inference mode.
    layer
        The layer whose output becomes features; None: the input of the last layer with a kernel.
    output
        The output that holds the posteriors; needed if there are several.
    kind
        "probabilities" or "logits", if the last layer's activation does not tell.
    batch
        Steps per batch.

    The model itself computes the posteriors; a second model ends at the layer.
    """

    labels = None

    def __init__(
        self,
        model: Any,  # noqa: ANN401 - keras is not imported for its name
        layer: str | None = None,
        *,
        output: str | None = None,
        kind: Kind | None = None,
        batch: int = BATCH,
    ) -> None:
        keras = import_extra("keras", "keras")
        inputs = getattr(model, "inputs", None)
        if not inputs:
            raise InputError(
                "model must be a built Sequential or Functional Keras model, since others have no"
                " graph to take features from; record yours as"
                "  tcuq.Stream(model.predict(inputs), features)"
            )
        self._model = model
        self._inputs = [tensor.name for tensor in inputs]
        self._output = output
        several = len(model.outputs) > 1
        known = None if several else ENDINGS.get(_last_activation(model))
        self.kind = agreed_kind(kind, known)
        self.batch = batch
        self.layer: str
        if layer is None:
            head = _head(model, several=several)
            self.layer, tensor = f"input of {head.name}", head.input
        else:
            self.layer = choose(layer, [part.name for part in model.layers], "layer")
            tensor = model.get_layer(layer).output
        single = len(inputs) == 1
        self._features = keras.Model(
            inputs[0] if single else dict(zip(self._inputs, inputs, strict=True)), tensor
        )

    def run(self, inputs: Any) -> tuple[Array, Array | None]:  # noqa: ANN401 - array or dictionary
        """Return the posteriors and the layer of a batch."""
        arrays = named_arrays(inputs, self._inputs)
        fed = arrays if len(arrays) > 1 else next(iter(arrays.values()))
        with input_errors_of("the Keras model"):
            posteriors = self._member(self._model.predict_on_batch(fed))
            return np.asarray(posteriors), np.asarray(self._features.predict_on_batch(fed))

    def _member(self, outputs: Any) -> Any:  # noqa: ANN401 - an array, or several
        if isinstance(outputs, list | tuple):
            outputs = dict(zip(self._model.output_names, outputs, strict=True))
        if not isinstance(outputs, Mapping):
            return outputs
        return outputs[choose(self._output, list(outputs), "output")]


def _last_activation(model: Any) -> str | None:  # noqa: ANN401 - as above
    layer = model.layers[-1]
    while getattr(layer, "layers", None):
        layer = layer.layers[-1]
    if type(layer).__name__ == "Softmax":
        return "softmax"
    return getattr(getattr(layer, "activation", None), "__name__", None)


def _head(model: Any, *, several: bool) -> Any:  # noqa: ANN401 - a layer
    """Return the last layer with a kernel."""
    for layer in () if several else reversed(model.layers):
        if getattr(layer, "layers", None) and layer.weights:
            break  # the last layer inside a nested model cannot be reached
        if hasattr(layer, "kernel"):
            return layer
    names = ", ".join(part.name for part in model.layers)[:200]
    raise InputError(f"layer must be named, since no last layer with a kernel is found: {names}")
