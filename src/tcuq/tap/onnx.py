# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime: an `.onnx` file, tapped at the tensor its last layer reads."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import InputError, MissingExtraError
from tcuq.tap.feeding import read_model, shaped, typed
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
        onnx, runtime = _libraries()
        content = read_model(path)
        model = _parsed(onnx, content, str(path))
        self._session = _session(runtime, content, str(path))
        inputs = self._session.get_inputs()
        if len(inputs) != 1 or inputs[0].type not in TYPES:
            said = ", ".join(f"{i.name}: {i.type}" for i in inputs)
            raise InputError(f"{path}: the model must have one input of numbers, got {said}")
        self._input = inputs[0]
        outputs = [o.name for o in self._session.get_outputs()]
        self.output = chosen(output, outputs, "output")
        nodes = _nodes(model.graph)
        self.kind = output_kind(nodes, self.output)
        computed = [name for node in nodes for name in node.outputs]
        self.layer: str = (
            penultimate(nodes, self.output) if layer is None else chosen(layer, computed, "layer")
        )
        self._features = None
        if self.layer != self._input.name:
            del model.graph.output[:]
            model.graph.output.append(onnx.ValueInfoProto(name=self.layer))
            self._features = _session(runtime, model.SerializeToString(), str(path))
        size = self._input.shape[0] if self._input.shape else 1
        self.batch = size if isinstance(size, int) else BATCH

    def run(self, inputs: Array) -> tuple[Array, Array | None]:
        """Posteriors and the layer of a batch, as the runtime gives them."""
        shape = [size if isinstance(size, int) else None for size in self._input.shape[1:]]
        rows = shaped(typed(inputs, TYPES[self._input.type]), shape)
        missing = self.batch - len(rows) if isinstance(self._input.shape[0], int) else 0
        fed = np.concatenate([rows, rows[-1:].repeat(missing, axis=0)]) if missing else rows
        posteriors = self._run(self._session, self.output, fed)[: len(rows)]
        layer = fed if self._features is None else self._run(self._features, self.layer, fed)
        return posteriors, layer[: len(rows)]

    def _run(self, session: Any, name: str, rows: Array) -> Array:  # noqa: ANN401 - untyped
        try:
            (made,) = session.run([name], {self._input.name: rows})
        except Exception as error:  # the runtime's own classes share no other base
            said = str(error).splitlines()[0][:200]
            raise InputError(f"inputs are refused by ONNX Runtime: {said}") from error
        if not isinstance(made, np.ndarray) or made.dtype.kind not in "fiu":
            raise InputError(f"{name!r} must be a tensor of numbers, got {type(made).__name__}")
        return made


def _libraries() -> tuple[Any, Any]:
    try:
        import onnx
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError(error.name or "onnxruntime", "onnx") from None
    return onnx, onnxruntime


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
