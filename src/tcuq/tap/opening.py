# SPDX-License-Identifier: Apache-2.0
"""Which tap a model needs: by its file's ending, by `module:factory`, or by what the object is."""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

from tcuq.errors import InputError
from tcuq.stream import Kind
from tcuq.tap.litert import LiteRTTap
from tcuq.tap.onnx import OnnxTap
from tcuq.tap.recorder import Tap
from tcuq.tap.sklearn import SklearnTap
from tcuq.tap.torch import TorchTap


def open_tap(
    model: Any,  # noqa: ANN401 - a path, a name or somebody's object
    layer: str | None = None,
    *,
    output: str | None = None,
    kind: Kind | None = None,
    reference: bool = False,
) -> Tap:
    """The tap of a model.

    Parameters
    ----------
    model
        A path ending in `.tflite` or `.onnx`; `module:factory`, a function of yours that returns
        the object; a `torch.nn.Module`; or anything with `predict_proba`. Pickles are never loaded.
    layer, output
        Names of the tensor, submodule or step to take features and posteriors from.
    kind
        "probabilities" or "logits", for a torch module.
    reference
        A `.tflite` runs with the reference kernels.
    """
    if isinstance(model, str | os.PathLike):
        path = Path(model)
        if path.suffix == ".tflite":
            return LiteRTTap(path, layer, output=output, reference=reference)
        if path.suffix == ".onnx":
            return OnnxTap(path, layer, output=output)
        model = _made(str(model))
    if callable(getattr(model, "predict_proba", None)):
        return SklearnTap(model, layer)
    if callable(getattr(model, "named_modules", None)):
        return TorchTap(model, layer, output=output, kind=kind)
    raise InputError(
        "model must be a torch module or have predict_proba,"
        f" got {type(model).__module__}.{type(model).__qualname__}"
    )


def _made(name: str) -> Any:  # noqa: ANN401 - what the factory returns
    module, colon, factory = name.partition(":")
    if not colon or not all(part.isidentifier() for part in [*module.split("."), factory]):
        raise InputError(
            f"model must end in .tflite or .onnx or be module:factory, got {name[:200]!r}"
            " (pickled models are never loaded: write a function that builds yours)"
        )
    here = str(Path.cwd())
    if here not in sys.path:  # a console script, unlike python -m, does not look where one stands
        sys.path.insert(0, here)
    try:
        make = getattr(importlib.import_module(module), factory)
    except (ImportError, AttributeError) as error:
        raise InputError(f"model {name!r}: {error}") from None
    return make()
