# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime: an `.onnx` file, tapped at the tensor its last layer reads."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq._extras import import_extra
from tcuq.errors import InputError
from tcuq.tap.feeding import named_arrays, read_model, refused_by, shaped, typed
from tcuq.tap.graph import Node, chosen, output_kind, penultimate

Array = NDArray[Any]
BATCH = 64
TYPES = {
    "tensor(float)": "f4", "tensor(double)": "f8", "tensor(float16)": "f2", "tensor(int8)": "i1",
    "tensor(uint8)": "u1", "tensor(int32)": "i4", "tensor(int64)": "i8",
}  # fmt: skip


class OnnxTap:
    """An `.onnx` model in one file.

    Parameters
    ----------
    path
        The model's file.
    layer
        The tensor that features are taken from; found by itself if None.
    output
        The output that holds the posteriors; needed where there are several.

    Two sessions are kept: the file as it is, for the posteriors, and the same graph ending at the
    layer, for the features: an output more could change how the runtime fuses operations.
    """

    labels = None

    def __init__(
        self,
        path: str | os.PathLike[str],
        layer: str | None = None,
        *,
        output: str | None = None,
    ) -> None:
        onnx, runtime = (import_extra(name, "onnx") for name in ("onnx", "onnxruntime"))
        content = read_model(path)
        model = _parsed(onnx, content, str(path))
        self._session = _session(runtime, content, str(path))
        self._inputs = {detail.name: detail for detail in self._session.get_inputs()}
        types = {name: detail.type for name, detail in self._inputs.items()}
        if not types or not set(types.values()) <= set(TYPES):
            raise InputError(f"{path}: the model must have inputs of numbers, got {types}")
        outputs = [o.name for o in self._session.get_outputs()]
        self.output = chosen(output, outputs, "output")
        nodes = _nodes(model.graph)
        self.kind = output_kind(nodes, self.output)
        computed = [name for node in nodes for name in node.outputs]
        self.layer: str = (
            penultimate(nodes, self.output) if layer is None else chosen(layer, computed, "layer")
        )
        self._features = None
        if self.layer not in self._inputs:
            del model.graph.output[:]
            model.graph.output.append(onnx.ValueInfoProto(name=self.layer))
            self._features = _session(runtime, model.SerializeToString(), str(path))
        sizes = {detail.shape[0] for detail in self._inputs.values() if detail.shape}
        self._fixed = next((size for size in sizes if isinstance(size, int)), None)
        self.batch = self._fixed or BATCH

    def run(self, inputs: Any) -> tuple[Array, Array | None]:  # noqa: ANN401 - array or dictionary
        """Posteriors and the layer of a batch, as the runtime gives them."""
        given = named_arrays(inputs, list(self._inputs))
        fed = {name: self._fed(name, values) for name, values in given.items()}
        steps = len(next(iter(fed.values())))
        missing = self._fixed - steps if self._fixed else 0
        if missing:
            fed = {n: np.concatenate([v, v[-1:].repeat(missing, axis=0)]) for n, v in fed.items()}
        posteriors = self._run(self._session, self.output, fed)
        layer = (
            fed[self.layer]
            if self._features is None
            else self._run(self._features, self.layer, fed)
        )
        return posteriors[:steps], layer[:steps]

    def _fed(self, name: str, values: Array) -> Array:
        detail = self._inputs[name]
        shape = [size if isinstance(size, int) else None for size in detail.shape[1:]]
        return shaped(
            typed(values, TYPES[detail.type]), shape, name if len(self._inputs) > 1 else "inputs"
        )

    def _run(self, session: Any, name: str, fed: Mapping[str, Array]) -> Array:  # noqa: ANN401
        needed = {detail.name for detail in session.get_inputs()}
        with refused_by("ONNX Runtime"):
            (made,) = session.run([name], {n: v for n, v in fed.items() if n in needed})
        if not isinstance(made, np.ndarray) or made.dtype.kind not in "fiu":
            raise InputError(f"{name!r} must be a tensor of numbers, got {type(made).__name__}")
        return made


def _parsed(onnx: Any, content: bytes, name: str) -> Any:  # noqa: ANN401 - untyped libraries
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # of the Protocol Buffer library in use
        raise InputError(f"{name}: not an ONNX model: {str(error)[:200]}") from error
    outside = onnx.TensorProto.EXTERNAL
    if any(tensor.data_location == outside for tensor in model.graph.initializer):
        raise InputError(
            f"{name}: the model must be one file, its weights lie outside it:"
            " save it with external data off"
        )
    return model


def _session(runtime: Any, content: bytes, name: str) -> Any:  # noqa: ANN401 - as above
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        said = str(error).splitlines()[0][:200]
        raise InputError(f"{name}: not a model that ONNX Runtime can run: {said}") from error


def _nodes(graph: Any) -> list[Node]:  # noqa: ANN401 - as above
    constant = {tensor.name for tensor in graph.initializer}
    constant |= {name for node in graph.node if node.op_type == "Constant" for name in node.output}
    return [
        Node(
            node.op_type,
            tuple(name for name in node.input if name and name not in constant),
            tuple(node.output),
        )
        for node in graph.node
        if node.op_type != "Constant"
    ]
