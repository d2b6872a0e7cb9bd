# SPDX-License-Identifier: Apache-2.0
"""What a model's graph says of itself: how it ends, and which tensor its last layer reads."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tcuq.errors import InputError
from tcuq.stream import Kind

# TensorFlow Lite's names are in capitals, ONNX' are not; each set is of both.
HEADS = frozenset(
    {"FULLY_CONNECTED", "CONV_2D", "BATCH_MATMUL", "Gemm", "MatMul", "Conv", "QGemm"}
    | {"QLinearMatMul", "QLinearConv", "MatMulInteger", "LinearClassifier"}
)
PROBABILITIES = frozenset({"SOFTMAX", "LOGISTIC", "Softmax", "Sigmoid", "LinearClassifier"})
# Bias, shape and number format: what stands between a head and the output without a layer's work.
PASSED = frozenset(
    {"RESHAPE", "SQUEEZE", "QUANTIZE", "DEQUANTIZE", "ADD", "LOG_SOFTMAX", "Reshape", "Flatten"}
    | {"Squeeze", "Identity", "Cast", "Add", "Mul", "LogSoftmax", "QuantizeLinear"}
    | {"DequantizeLinear", "ReduceMean", "GlobalAveragePool", "AVERAGE_POOL_2D", "MEAN"}
)
NEAREST = 5


@dataclass(frozen=True, slots=True)
class Node:
    """An operation, the tensors it computes from (constants left out) and those it makes."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def output_kind(nodes: Sequence[Node], output: str) -> Kind | None:
    """Probabilities behind a softmax or sigmoid, logits behind a head, else None: not guessed."""
    for node in _way_back(nodes, output):
        if node.op in PROBABILITIES:
            return "probabilities"
        if node.op in HEADS:
            return "logits"
    return None


def penultimate(nodes: Sequence[Node], output: str) -> str:
    """The tensor that the last layer with weights reads."""
    for node in _way_back(nodes, output):
        if node.op in HEADS and node.inputs:
            return node.inputs[0]
    raise InputError(
        f"no last layer with weights is found behind output {output!r}: name the layer that"
        " features are taken from"
    )


def _way_back(nodes: Sequence[Node], output: str) -> Iterable[Node]:
    """From the output up to the first operation that is a layer's, by its first input."""
    makers = {name: node for node in nodes for name in node.outputs}
    name, seen = output, set[str]()
    while name in makers and name not in seen:
        seen.add(name)
        node = makers[name]
        yield node
        if len(node.inputs) != 1 or node.op not in PASSED | PROBABILITIES:
            return
        name = node.inputs[0]


def chosen(name: str | None, known: Sequence[str], what: str) -> str:
    """The only one if none is named; a name that is not there is answered with the nearest."""
    if name is None:
        if len(known) != 1:
            raise InputError(f"{what} must be named, one of {', '.join(known[:20]) or 'none'}")
        return known[0]
    if name not in known:
        near = difflib.get_close_matches(name, known, NEAREST, 0.0)
        raise InputError(f"{what} must be one of the model's, such as {near}, got {name!r}")
    return name
