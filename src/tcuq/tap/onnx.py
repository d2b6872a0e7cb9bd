# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime: an `.onnx` file, tapped at the tensor its last layer reads."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq._extras import import_extra
from tcuq.errors import InputError
from tcuq.stream import Kind
from tcuq.tap.feeding import input_errors_of, named_arrays, read_model, to_dtype, to_shape
from tcuq.tap.graph import Node, agreed_kind, choose, output_kind, penultimate

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
        The tensor that features are taken from; None: the input of the last layer.
    output
        The output that holds the posteriors; needed if there are several.
    kind
        "logits", or "outputs" of a model without classes, if its last operation does not tell.

    One session runs the file unchanged, for the posteriors, and one the same graph ending at the
    layer, for the features: an additional output could change how the runtime fuses operations.
    """

    labels = None

    def __init__(
        self,
        path: str | os.PathLike[str],
        layer: str | None = None,
        *,
        output: str | None = None,
        kind: Kind | None = None,
    ) -> None:
        onnx, runtime = (import_extra(name, "onnx") for name in ("onnx", "onnxruntime"))
        content = read_model(path)
        model = _parse(onnx, content, str(path))
        self._session = _session(runtime, content, str(path))
        self._inputs = {detail.name: detail for detail in self._session.get_inputs()}
        types = {name: detail.type for name, detail in self._inputs.items()}
        if not types or not set(types.values()) <= set(TYPES):
            raise InputError(f"{path}: the model must have inputs of numbers, got {types}")
        outputs = [o.name for o in self._session.get_outputs()]
        self.output: str = choose(output, outputs, "output")
        nodes = _nodes(model.graph)
        self.kind = agreed_kind(kind, output_kind(nodes, self.output))
        tensors = [*self._inputs, *(name for node in nodes for name in node.outputs)]
        self.layer: str = (
            penultimate(nodes, self.output) if layer is None else choose(layer, tensors, "layer")
        )
        self._features = None
        if self.layer not in self._inputs:
            del model.graph.output[:]
            model.graph.output.append(onnx.ValueInfoProto(name=self.layer))
            self._features = _session(runtime, model.SerializeToString(), str(path))
        sizes = {detail.shape[0] for detail in self._inputs.values() if detail.shape}
        self._fixed = next((size for size in sizes if isinstance(size, int)), None)
        self.batch: int = self._fixed or BATCH

    def run(self, inputs: Any) -> tuple[Array, Array | None]:  # noqa: ANN401 - array or dictionary
        """Return the posteriors and the layer of a batch, as the runtime computes them."""
        arrays = named_arrays(inputs, list(self._inputs))
        feed = {name: self._feed(name, values) for name, values in arrays.items()}
        steps = len(next(iter(feed.values())))
        missing = self._fixed - steps if self._fixed else 0
        if missing:
            feed = {n: np.concatenate([v, v[-1:].repeat(missing, axis=0)]) for n, v in feed.items()}
        posteriors = self._run(self._session, self.output, feed)
        layer = (
            feed[self.layer]
            if self._features is None
            else self._run(self._features, self.layer, feed)
        )
        return posteriors[:steps], layer[:steps]

    def _feed(self, name: str, values: Array) -> Array:
        detail = self._inputs[name]
        shape = [size if isinstance(size, int) else None for size in detail.shape[1:]]
        return to_shape(
            to_dtype(values, TYPES[detail.type]), shape, name if len(self._inputs) > 1 else "inputs"
        )

    def _run(self, session: Any, name: str, feed: Mapping[str, Array]) -> Array:  # noqa: ANN401
        needed = {detail.name for detail in session.get_inputs()}
        with input_errors_of("ONNX Runtime"):
            (output,) = session.run([name], {n: v for n, v in feed.items() if n in needed})
        if not isinstance(output, np.ndarray) or output.dtype.kind not in "fiu":
            raise InputError(f"{name!r} must be a tensor of numbers, got {type(output).__name__}")
        return output


def _parse(onnx: Any, content: bytes, name: str) -> Any:  # noqa: ANN401 - untyped libraries
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # from the Protocol Buffer library in use
        raise InputError(f"{name}: not an ONNX model: {str(error)[:200]}") from error
    outside = onnx.TensorProto.EXTERNAL
    if any(tensor.data_location == outside for tensor in model.graph.initializer):
        raise InputError(
            f"{name}: the model must be one file, its weights lie outside it:"
            " save it in one file, with torch.onnx.export(..., external_data=False)"
        )
    return model


def _session(runtime: Any, content: bytes, name: str) -> Any:  # noqa: ANN401 - as above
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        reason = str(error).splitlines()[0][:200]
        raise InputError(f"{name}: not a model that ONNX Runtime can run: {reason}") from error


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
