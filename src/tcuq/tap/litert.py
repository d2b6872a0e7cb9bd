# SPDX-License-Identifier: Apache-2.0
"""LiteRT: a `.tflite` file, int8 or float, tapped at the tensor its last layer reads."""

import os
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq._extras import import_extra
from tcuq.errors import InputError
from tcuq.stream import Kind
from tcuq.tap.feeding import dequantise, one_array, read_model, to_dtype, to_shape
from tcuq.tap.graph import Node, agreed_kind, choose, output_kind, penultimate

Array = NDArray[Any]


class LiteRTTap:
    """A `.tflite` model.

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
    reference
        Use the reference kernels, whose integers equal those of a microcontroller, and not the
        host's fast ones, which may differ by one.

    One default interpreter computes the posteriors, and one that keeps every tensor the features.
    """

    labels = None
    batch = 1  # most files have a fixed batch size of 1

    def __init__(
        self,
        path: str | os.PathLike[str],
        layer: str | None = None,
        *,
        output: str | None = None,
        kind: Kind | None = None,
        reference: bool = False,
    ) -> None:
        content = read_model(path)
        self._plain, self._preserving = _interpreters(content, str(path), reference=reference)
        (self._input,) = _single(self._plain.get_input_details(), str(path))
        outputs = {detail["name"]: detail for detail in self._plain.get_output_details()}
        self.output: str = choose(output, list(outputs), "output")
        self._output = outputs[self.output]
        nodes, names = _nodes(content)
        place = names[self._output["index"]]
        self.kind = agreed_kind(kind, output_kind(nodes, place))
        wanted = penultimate(nodes, place) if layer is None else choose(layer, names, "layer")
        self.layer: str = wanted
        self._layer = next(
            d for d in self._preserving.get_tensor_details() if d["index"] == names.index(wanted)
        )

    @property
    def quantisation(self) -> tuple[float, int]:
        """Scale and zero point of the layer; the scale is 0 if it is not quantised."""
        scale, zero_point = self._layer["quantization"]
        return float(scale), int(zero_point)

    @property
    def input_quantisation(self) -> tuple[float, int]:
        """Scale and zero point of the input; the scale is 0 if it is not quantised."""
        scale, zero_point = self._input["quantization"]
        return float(scale), int(zero_point)

    def run(self, inputs: Any) -> tuple[Array, Array | None]:  # noqa: ANN401 - holds an array
        """Return the posteriors and the layer of each step, as real numbers."""
        scale, zero_point = self.input_quantisation
        shape = tuple(int(size) for size in self._input["shape"][1:])
        rows = to_dtype(
            to_shape(one_array(inputs), shape),
            self._input["dtype"],
            scale=scale,
            zero_point=zero_point,
        )
        outputs = [self._step(self._plain, row, self._output) for row in rows]
        layers = [self._step(self._preserving, row, self._layer) for row in rows]
        return np.stack(outputs), np.stack(layers)

    def _step(self, interpreter: Any, row: Array, wanted: Any) -> Array:  # noqa: ANN401 - untyped
        interpreter.set_tensor(self._input["index"], row[None])
        interpreter.invoke()
        tensor: Array = interpreter.get_tensor(wanted["index"])
        return dequantise(tensor, *wanted["quantization"]).reshape(tensor.shape[1:])


def _interpreters(content: bytes, name: str, *, reference: bool) -> tuple[Any, Any]:
    litert = import_extra("ai_edge_litert.interpreter", "litert")
    kernels = litert.OpResolverType.BUILTIN_REF if reference else litert.OpResolverType.AUTO
    interpreters = []
    for preserve in (False, True):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # about the memory of kept tensors
                interpreter = litert.Interpreter(
                    model_content=content,
                    experimental_op_resolver_type=kernels,
                    experimental_preserve_all_tensors=preserve,
                    num_threads=1,
                )
            interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0][:200]
            raise InputError(f"{name}: not a model that LiteRT can run: {reason}") from None
        interpreters.append(interpreter)
    return interpreters[0], interpreters[1]


def _single(details: list[Any], name: str) -> list[Any]:
    if len(details) != 1:
        raise InputError(f"{name}: the model must have one input, got {len(details)}")
    shape = [int(size) for size in details[0]["shape"]]
    if not shape or shape[0] != 1:
        raise InputError(f"{name}: the model's batch must be 1, got the input shape {shape}")
    return details


def _nodes(content: bytes) -> tuple[list[Node], list[str]]:
    """Return the first subgraph's operations, and its tensors' names by number.

    They are read from the file, which the interpreter verified but has no public API for.
    """
    schema = import_extra("ai_edge_litert.schema_py_generated", "litert")
    model = schema.Model.GetRootAs(content, 0)
    graph = model.Subgraphs(0)
    names = [
        graph.Tensors(i).Name().decode("utf-8", "replace") for i in range(graph.TensorsLength())
    ]
    constant = {
        i for i in range(len(names)) if model.Buffers(graph.Tensors(i).Buffer()).DataLength()
    }
    known = {v: k for k, v in vars(schema.BuiltinOperator).items() if isinstance(v, int)}
    nodes = []
    for i in range(graph.OperatorsLength()):
        operator = graph.Operators(i)
        code = model.OperatorCodes(operator.OpcodeIndex())
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        inputs = [operator.Inputs(j) for j in range(operator.InputsLength())]
        outputs = [operator.Outputs(j) for j in range(operator.OutputsLength())]
        nodes.append(
            Node(
                known.get(number, str(number)),
                tuple(names[t] for t in inputs if t >= 0 and t not in constant),
                tuple(names[t] for t in outputs),
            )
        )
    return nodes, names
