# SPDX-License-Identifier: Apache-2.0
"""Read from a model's graph the kind of its output and the input of its last layer."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tcuq.errors import InputError
from tcuq.stream import Kind

# Each set has TensorFlow Lite's names, in capitals, and ONNX's.
HEADS = frozenset(
    {"FULLY_CONNECTED", "CONV_2D", "BATCH_MATMUL", "Gemm", "MatMul", "Conv", "QGemm"}
    | {"QLinearMatMul", "QLinearConv", "MatMulInteger", "LinearClassifier", "LinearRegressor"}
    | {"TreeEnsembleRegressor", "SVMRegressor"}
)
PROBABILITIES = frozenset({"SOFTMAX", "LOGISTIC", "Softmax", "Sigmoid", "LinearClassifier"})
# Operations without weights of a layer between head and output: bias, shape and number format.
PASSED = frozenset(
    {"RESHAPE", "SQUEEZE", "QUANTIZE", "DEQUANTIZE", "ADD", "LOG_SOFTMAX", "Reshape", "Flatten"}
    | {"Squeeze", "Identity", "Cast", "Add", "Mul", "LogSoftmax", "QuantizeLinear"}
    | {"DequantizeLinear", "ReduceMean", "GlobalAveragePool", "AVERAGE_POOL_2D", "MEAN"}
)
NEAREST = 5


@dataclass(frozen=True, slots=True)
class Node:
    """An operation, its input tensors without constants, and its output tensors."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def agreed_kind(kind: Kind | None, known: Kind | None) -> Kind | None:
    """Return the given kind, or the one the model tells; they must not contradict each other.

    A softmax or sigmoid may also end a detector or an autoencoder, whose kind is "outputs".
    """
    if kind not in (None, "outputs") and known is not None and kind != known:
        raise InputError(f"kind must be {known!r}, as the model ends, got {kind!r}")
    return kind or known


def output_kind(nodes: Sequence[Node], output: str) -> Kind | None:
    """Return probabilities after a softmax or sigmoid, else None.

    A last layer alone may give a classifier's logits, or the values of a regressor.
    """
    passed = (node.op for node in _walk_back(nodes, output))
    return "probabilities" if any(op in PROBABILITIES for op in passed) else None


def penultimate(nodes: Sequence[Node], output: str) -> str:
    """Return the input tensor of the last layer with weights."""
    for node in _walk_back(nodes, output):
        if node.op in HEADS and node.inputs:
            return node.inputs[0]
    raise InputError(
        f"no last layer with weights is found behind output {output!r}: name the layer that"
        " features are taken from"
    )


def _walk_back(nodes: Sequence[Node], output: str) -> Iterable[Node]:
    """Yield operations from the output back to the first one that belongs to a layer."""
    producers = {name: node for node in nodes for name in node.outputs}
    name, visited = output, set[str]()
    while name in producers and name not in visited:
        visited.add(name)
        node = producers[name]
        yield node
        if len(node.inputs) != 1 or node.op not in PASSED | PROBABILITIES:
            return
        name = node.inputs[0]


def choose(name: str | None, known: Sequence[str], what: str) -> str:
    """Return the named one, or the only one if none is named; suggest the nearest names."""
    if name is None:
        if len(known) != 1:
            raise InputError(f"{what} must be named, one of {', '.join(known[:20]) or 'none'}")
        return known[0]
    if name not in known:
        near = difflib.get_close_matches(name, known, NEAREST, 0.0)
        raise InputError(f"{what} must be one of the model's, such as {near}, got {name!r}")
    return name
