# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

from tcuq.errors import InputError
from tcuq.tap import open_tap, record
from tests.fixtures.onnx_models import Node, save_onnx

Array = NDArray[Any]
STEPS = 70  # more than a batch


def write_model(path: Path, *, softmax: bool = True, batch: int | str = "n") -> Path:
    """Write a convolution, a pool and a dense layer of 5 classes over pictures of 3 x 16 x 16."""
    rng = np.random.default_rng(1)
    sizes: dict[str, tuple[int, ...]] = {"w1": (8, 3, 3, 3), "b1": (8,), "w2": (8, 5), "b2": (5,)}
    weights = {name: rng.normal(0, 0.3, size).astype(np.float32) for name, size in sizes.items()}
    nodes: list[Node] = [
        ("Conv", "x w1 b1", "c", {"strides": [2, 2]}),
        ("Relu", "c", "r"),
        ("GlobalAveragePool", "r", "g"),
        ("Flatten", "g", "pooled"),
        ("MatMul", "pooled w2", "m"),
        ("Add", "m b2", "logits"),
    ]
    nodes += [("Softmax", "logits", "p")] if softmax else []
    return save_onnx(path, nodes, {"x": [batch, 3, 16, 16]}, [batch, 5], weights)


@pytest.fixture(scope="module")
def rows() -> Array:
    """Pictures as the model takes them."""
    array: Array = np.random.default_rng(2).normal(size=(STEPS, 3, 16, 16)).astype(np.float32)
    return array


def run(path: Path, rows: Array) -> Array:
    """What the runtime itself gives, in the tap's batches."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    parts = [rows[begin : begin + 64] for begin in range(0, len(rows), 64)]
    return np.concatenate([session.run(None, {"x": part})[0] for part in parts])


def test_posteriors_and_the_layer_before_the_last(tmp_path: Path, rows: Array) -> None:
    """The runtime's output to the last bit; features are what the last layer multiplies."""
    path = write_model(tmp_path / "m.onnx")
    tap = open_tap(path)
    stream = record(tap, rows)
    assert (tap.layer, stream.kind, stream.width) == ("pooled", "probabilities", 8)
    np.testing.assert_array_equal(stream.posteriors, run(path, rows))
    weights = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    logits = stream.features @ weights["w2"] + weights["b2"]
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, stream.posteriors, atol=1e-6)


def test_a_named_layer_and_a_named_input(tmp_path: Path, rows: Array) -> None:
    """A tensor named is the one taken, flattened; the only input may be named, too."""
    path = write_model(tmp_path / "m.onnx")
    stream = record(open_tap(path, "r"), rows)
    default = record(open_tap(path), rows)
    assert stream.width == 8 * 7 * 7
    assert default.features is not None
    means = np.asarray(stream.features).reshape(STEPS, 8, 49).mean(axis=2)
    np.testing.assert_allclose(means, default.features, atol=1e-6)
    tap = open_tap(write_model(tmp_path / "m.onnx"))
    assert record(tap, {"x": rows}).sha256 == record(tap, rows).sha256


def test_without_a_softmax_the_kind_must_be_given(tmp_path: Path, rows: Array) -> None:
    """A last layer alone may be a classifier's or a regressor's."""
    path = write_model(tmp_path / "m.onnx", softmax=False)
    with pytest.raises(InputError, match='kind="logits" of a classifier, kind="outputs" of a reg'):
        record(open_tap(path), rows)
    stream = record(open_tap(path), rows, kind="logits")
    assert (stream.kind, record(open_tap(path, kind="outputs"), rows).kind) == ("logits", "outputs")
    np.testing.assert_array_equal(stream.posteriors, run(path, rows))


def test_a_fixed_batch(tmp_path: Path, rows: Array) -> None:
    """A batch fixed into the file is kept to, the last one filled up and cut again."""
    path = write_model(tmp_path / "m.onnx", batch=4)
    stream = record(open_tap(path), rows)
    whole = record(open_tap(write_model(tmp_path / "n.onnx")), rows)
    assert len(stream) == STEPS
    np.testing.assert_allclose(stream.posteriors, whole.posteriors, atol=1e-6)


def test_unknown_names_and_wrong_inputs_are_refused(tmp_path: Path, rows: Array) -> None:
    """A layer or output that is not there, and channels last, are answered with what is right."""
    path = write_model(tmp_path / "m.onnx")
    with pytest.raises(InputError, match=r"layer must be one of the model's, such as .*'pooled'"):
        open_tap(path, "pool")
    with pytest.raises(InputError, match="output must be one of"):
        open_tap(path, output="q")
    tap = open_tap(write_model(tmp_path / "m.onnx"))
    with pytest.raises(InputError, match=r"inputs must have the shape \(steps, 3, 16, 16\)"):
        record(tap, rows.transpose(0, 2, 3, 1))


def test_weights_outside_the_file_are_refused(tmp_path: Path) -> None:
    """A model that would read other files is not run."""
    model = onnx.load(write_model(tmp_path / "m.onnx"))
    onnx.save_model(
        model, tmp_path / "e.onnx", save_as_external_data=True, location="w", size_threshold=0
    )
    with pytest.raises(InputError, match=r"e\.onnx: the model must be one file"):
        open_tap(tmp_path / "e.onnx")


@pytest.mark.parametrize("content", [b"", b"\xff" * 50, b"\x08\x09"])
def test_a_file_that_is_no_model_is_refused(content: bytes, tmp_path: Path) -> None:
    """Whatever the bytes, the error is ours and names the file."""
    (tmp_path / "m.onnx").write_bytes(content)
    with pytest.raises(InputError, match=r"m\.onnx: "):
        open_tap(tmp_path / "m.onnx")


def write_named(path: Path, *, batch: int | str = "n", ending: str = "Sigmoid") -> Path:
    """Write a model of two inputs, tokens and a mask, and one output."""
    rng = np.random.default_rng(1)
    table, dense = (rng.normal(size=size).astype(np.float32) for size in ((20, 6), (6, 1)))
    nodes: list[Node] = [
        ("Gather", "table tokens", "embedded"),
        ("Mul", "embedded mask", "masked"),
        ("ReduceSum", "masked axis", "pooled", {"keepdims": 0}),
        ("MatMul", "pooled w", "logit"),
        (ending, "logit", "p"),
    ]
    inputs: dict[str, list[int | str]] = {"tokens": [batch, 4], "mask": [batch, 4, 1]}
    weights = {"table": table, "w": dense, "axis": [1]}
    return save_onnx(path, nodes, inputs, [batch, 1], weights, integers=["tokens"])


@pytest.mark.parametrize("batch", ["n", 4])
def test_named_inputs_and_a_single_sigmoid(tmp_path: Path, batch: int | str) -> None:
    """A dictionary feeds two inputs by name; one probability becomes two classes."""
    rng = np.random.default_rng(3)
    named = {
        "mask": (rng.random((STEPS, 4)) > 0.3).astype(np.int64),
        "tokens": rng.integers(0, 20, (STEPS, 4)),
    }
    tap = open_tap(write_named(tmp_path / "m.onnx", batch=batch))
    stream = record(tap, named, np.arange(STEPS) % 2)
    assert (stream.kind, stream.classes, stream.width) == ("probabilities", 2, 6)
    weights = {
        t.name: numpy_helper.to_array(t) for t in onnx.load(tmp_path / "m.onnx").graph.initializer
    }
    pooled = (weights["table"][named["tokens"]] * named["mask"][..., None]).sum(axis=1)
    assert stream.features is not None
    np.testing.assert_allclose(stream.features, pooled, atol=1e-5)
    shares = 1 / (1 + np.exp(-pooled @ weights["w"]))
    np.testing.assert_allclose(stream.posteriors, np.hstack([1 - shares, shares]), atol=1e-6)
    parts = [{n: v[at : at + 30] for n, v in named.items()} for at in range(0, STEPS, 30)]
    assert record(tap, iter(parts), np.arange(STEPS) % 2).sha256 == stream.sha256


def test_named_inputs_must_all_be_there(tmp_path: Path) -> None:
    """A missing name, a foreign one or an array alone is answered with the names."""
    tap = open_tap(write_named(tmp_path / "m.onnx"))
    tokens = np.zeros((3, 4), np.int64)
    for given, got in (
        ({"tokens": tokens}, "tokens"),
        ({"tokens": tokens, "token_type_ids": tokens}, "tokens, token_type_ids"),
        (tokens, "ndarray"),
    ):
        with pytest.raises(InputError, match=rf"a dictionary of tokens, mask, got {got}$"):
            record(tap, given)
    with pytest.raises(InputError, match=r"tokens must have the shape \(steps, 4\)"):
        record(tap, {"tokens": tokens[:, :3], "mask": tokens})
