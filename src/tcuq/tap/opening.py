# SPDX-License-Identifier: Apache-2.0
"""Choose a model's tap by its file's ending, by `module:factory`, or by the object's type."""

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tcuq.errors import InputError
from tcuq.stream import Kind
from tcuq.tap.executorch import ExecutorchTap
from tcuq.tap.keras import KerasTap, is_keras, load_keras
from tcuq.tap.litert import LiteRTTap
from tcuq.tap.onnx import OnnxTap
from tcuq.tap.recorder import Tap
from tcuq.tap.sklearn import METHODS, SklearnTap
from tcuq.tap.torch import TorchTap


def open_tap(
    model: Any,  # noqa: ANN401 - a path, a name or any object
    layer: str | None = None,
    *,
    output: str | None = None,
    kind: Kind | None = None,
    reference: bool = False,
) -> Tap:
    """Return the tap of a model.

    Parameters
    ----------
    model
        A path ending in `.tflite`, `.onnx`, `.keras` or `.pte`; `file.py:factory` or
        `module:factory`, your function that returns the object; a `torch.nn.Module`; a
        `keras.Model`; a scikit-learn estimator, or anything with `predict_proba`. Pickles are
        never loaded.
    layer, output
        Names of the tensor, submodule or step to take features and posteriors from; of a `.pte`
        numbers of its outputs.
    kind
        "probabilities", "logits", or "outputs" of a model without classes; needed if the model
        does not end in a softmax or sigmoid, and of a torch module or a `.pte`.
    reference
        Whether a `.tflite` runs with the reference kernels.
    """
    if isinstance(model, str | os.PathLike):
        path = Path(model)
        if path.suffix == ".tflite":
            return LiteRTTap(path, layer, output=output, kind=kind, reference=reference)
        if path.suffix == ".onnx":
            return OnnxTap(path, layer, output=output, kind=kind)
        if path.suffix == ".pte":
            return ExecutorchTap(path, layer, output=output, kind=kind)
        model = load_keras(path) if path.suffix == ".keras" else _call_factory(str(model))
    if is_keras(model):
        return KerasTap(model, layer, output=output, kind=kind)
    if callable(getattr(model, "named_modules", None)):
        return TorchTap(model, layer, output=output, kind=kind)
    if any(callable(getattr(model, name, None)) for name in METHODS):
        return SklearnTap(model, layer, kind=kind)
    raise InputError(
        f"model must be a torch module, a Keras model, or have {', '.join(METHODS)},"
        f" got {type(model).__module__}.{type(model).__qualname__}"
    )


def _call_factory(name: str) -> Any:  # noqa: ANN401 - whatever the factory returns
    module, _, factory = name.rpartition(":")
    is_file = Path(module).suffix == ".py"
    parts = [factory] if is_file else [*module.split("."), factory]
    if not all(part.isidentifier() for part in parts):
        raise InputError(
            "model must end in .tflite, .onnx, .keras or .pte, or be file.py:factory or"
            f" module:factory, got {name[:200]!r} (pickled models are never loaded: write a"
            " function that builds yours)"
        )
    beside = Path(module if is_file else f"{module}.py")
    try:
        loaded = (
            _load_module(beside) if is_file or beside.is_file() else importlib.import_module(module)
        )
        make = getattr(loaded, factory)
    except (ImportError, AttributeError, OSError) as error:
        hint = " (set PYTHONPATH=. to import modules beside it)" * isinstance(error, ImportError)
        raise InputError(f"model {name!r}: {error}{hint}") from None
    return make()


def _load_module(path: Path) -> ModuleType:
    """Load a module from its file, under a name that hides no other module."""
    name = f"_tcuq_model_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles look their module up by name
    spec.loader.exec_module(module)
    return module
