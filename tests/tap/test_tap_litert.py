# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from numpy.typing import NDArray

from tcuq.errors import InputError
from tcuq.tap import open_tap, record
from tcuq.tap.litert import LiteRTTap

Array = NDArray[Any]
Find = Callable[[str], Path]


def engine(path: Path, rows: Array, tensor: str | None = None, **options: Any) -> Array:
    """What the engine itself gives for each row: its output, or a tensor, in its own type."""
    whole = {"experimental_preserve_all_tensors": True} if tensor else {}
    interpreter = Interpreter(str(path), num_threads=1, **options, **whole)
    interpreter.allocate_tensors()
    place = interpreter.get_output_details()[0]["index"]
    if tensor:
        place = next(d["index"] for d in interpreter.get_tensor_details() if d["name"] == tensor)
    parts = []
    for row in rows:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], row[None])
        interpreter.invoke()
        parts.append(interpreter.get_tensor(place)[0].ravel())
    return np.stack(parts)


@pytest.fixture(scope="module")
def spectra() -> Array:
    """Forty inputs of the keyword network, int8."""
    rng = np.random.default_rng(7)
    array: Array = np.clip(rng.normal(60, 40, (40, 49, 10, 1)), -128, 127).astype(np.int8)
    return array


@pytest.mark.filterwarnings("ignore:.*experimental_preserve_all_tensors")
def test_int8_ds_cnn(mlperf: Find, spectra: Array) -> None:
    """MLPerf's int8 DS-CNN: the output's very bytes, and the 64 pooled features as they are."""
    path = mlperf("kws_ref_model")
    tap = LiteRTTap(path)
    stream = record(tap, spectra)
    assert (stream.kind, stream.classes, stream.width) == ("probabilities", 12, 64)
    np.testing.assert_array_equal(stream.posteriors * 256 - 128, engine(path, spectra))
    assert tap.layer == "functional_1/flatten/Reshape"
    scale, zero_point = tap.quantisation
    assert stream.features is not None
    codes = engine(path, spectra, "functional_1/average_pooling2d/AvgPool")
    expected = (codes.astype(np.float32) - zero_point) * np.float32(scale)
    np.testing.assert_array_equal(stream.features, expected)
    assert len(np.unique(stream.features)) > 20


@pytest.mark.filterwarnings("ignore:.*experimental_preserve_all_tensors")
def test_float_ds_cnn(mlperf: Find, spectra: Array) -> None:
    """The same network in float: the engine's output and the layer to the last bit."""
    path = mlperf("kws_ref_model_float32")
    rows = (spectra.astype(np.float32) - 83) * np.float32(0.5847029)
    tap = LiteRTTap(path)
    stream = record(tap, rows[..., 0])
    np.testing.assert_array_equal(stream.posteriors, engine(path, rows))
    np.testing.assert_array_equal(stream.features, engine(path, rows, tap.layer))
    assert tap.quantisation == (0.0, 0)
    assert stream.width == 64


def test_int8_resnet_by_itself_and_by_name(mlperf: Find, pictures: Array) -> None:
    """MLPerf's ResNet-8: the pooled 64 by itself, and an earlier layer when it is named."""
    path = mlperf("pretrainedResnet_quant")
    rows = (pictures.astype(np.int16) - 128).astype(np.int8)
    tap = LiteRTTap(path)
    stream = record(tap, rows, np.zeros(len(rows), np.int32))
    np.testing.assert_array_equal(stream.posteriors * 256 - 128, engine(path, rows))
    assert (stream.width, stream.classes) == (64, 10)
    named = record(open_tap(path, "model/activation_6/Relu;model/add_2/add"), rows)
    assert named.width == 8 * 8 * 64
    assert stream.features is not None
    pooled = np.asarray(named.features).reshape(len(rows), 64, 64).mean(axis=1)
    assert np.abs(pooled - stream.features).max() < 0.51 * tap.quantisation[0]
    averaged = record(open_tap(path, "model/activation_6/Relu;model/add_2/add"), rows, pool="mean")
    np.testing.assert_array_equal(averaged.features, pooled)


def test_real_inputs_are_quantised_as_the_model_says(mlperf: Find, pictures: Array) -> None:
    """Pixels of 0..255 as real numbers give what the same pixels as int8 give."""
    tap = open_tap(mlperf("pretrainedResnet_quant"))
    rows = (pictures.astype(np.int16) - 128).astype(np.int8)
    real, codes = record(tap, pictures.astype(np.float32)), record(tap, rows)
    assert real.sha256 == codes.sha256


def test_reference_kernels(mlperf: Find, spectra: Array) -> None:
    """On request the integers are those of the reference kernels, and they do differ."""
    path = mlperf("kws_ref_model")
    stream = record(open_tap(path, reference=True), spectra)
    expected = engine(path, spectra, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    np.testing.assert_array_equal(stream.posteriors * 256 - 128, expected)
    assert (expected != engine(path, spectra)).any()


@pytest.mark.parametrize(
    ("shape", "rule"), [((3, 10, 49), "(steps, 49, 10, 1)"), ((3, 490), "(steps, 49, 10, 1)")]
)
def test_rearranged_inputs_are_refused(mlperf: Find, shape: tuple[int, ...], rule: str) -> None:
    """As many numbers in another order are an error, not a stream."""
    with pytest.raises(InputError, match="inputs must have the shape") as error:
        record(open_tap(mlperf("kws_ref_model")), np.zeros(shape, np.int8))
    assert rule in str(error.value)


def test_what_the_graph_contradicts_is_refused(mlperf: Find, spectra: Array) -> None:
    """Integers that would wrap, an unknown layer and logits after a softmax are refused."""
    with pytest.raises(InputError, match=r"inputs must fit int8, got 0\.\.200"):
        record(open_tap(mlperf("kws_ref_model")), np.arange(2 * 490).reshape(2, 49, 10) % 201)
    with pytest.raises(InputError, match=r"functional_1/flatten/Reshape.*got 'flatten/Reshap'"):
        open_tap(mlperf("kws_ref_model"), "flatten/Reshap")
    with pytest.raises(InputError, match="kind must be 'probabilities', as the model ends"):
        record(open_tap(mlperf("kws_ref_model")), spectra, kind="logits")


@pytest.mark.parametrize("content", [b"", b"TFL3", bytes(100), b"\x1c\0\0\0TFL3" + bytes(200)])
def test_a_file_that_is_no_model_is_refused(content: bytes, tmp_path: Path) -> None:
    """Whatever the bytes, the error is ours and names the file."""
    path = tmp_path / "m.tflite"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"m\.tflite: "):
        open_tap(path)


def test_a_cut_model_is_refused(mlperf: Find, tmp_path: Path) -> None:
    """Half of a real model is an error, at every place it is cut."""
    whole = mlperf("kws_ref_model").read_bytes()
    for size in (len(whole) // 7 * k for k in range(1, 7)):
        (tmp_path / "m.tflite").write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"m\.tflite: not a model"):
            open_tap(tmp_path / "m.tflite")


def write_sigmoid(path: Path) -> Path:
    """An int8 dense layer of one output, and a sigmoid, over 6 values."""
    quantised: dict[str, tuple[float, int]] = {
        "x": (0.05, 0), "w": (0.02, 0), "b": (0.001, 0), "z": (0.1, 0), "p": (1 / 256, -128),
    }  # fmt: skip
    shapes = {"x": [1, 6], "w": [1, 6], "b": [1], "z": [1, 1], "p": [1, 1]}
    rng = np.random.default_rng(0)
    constants = {"w": rng.integers(-127, 128, 6, np.int8), "b": np.array([40], np.int32)}
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.subgraphs, model.buffers = 3, [graph], [schema.BufferT()]
    graph.tensors, graph.inputs, graph.outputs, graph.operators = [], [0], [4], []
    for name, (scale, zero_point) in quantised.items():
        tensor, scaling = schema.TensorT(), schema.QuantizationParametersT()
        scaling.scale, scaling.zeroPoint = [scale], [zero_point]
        tensor.name, tensor.shape, tensor.quantization = name, shapes[name], scaling
        tensor.type = schema.TensorType.INT32 if name == "b" else schema.TensorType.INT8
        if name in constants:
            tensor.buffer = len(model.buffers)
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(constants[name].tobytes(), np.uint8)
            model.buffers.append(buffer)
        graph.tensors.append(tensor)
    codes = [schema.BuiltinOperator.FULLY_CONNECTED, schema.BuiltinOperator.LOGISTIC]
    model.operatorCodes = []
    for number, (code, ins, outs) in enumerate(
        zip(codes, ([0, 1, 2], [3]), ([3], [4]), strict=True)
    ):
        kind, operator = schema.OperatorCodeT(), schema.OperatorT()
        kind.builtinCode = kind.deprecatedBuiltinCode = code
        kind.version = 4 if number == 0 else 2
        model.operatorCodes.append(kind)
        operator.opcodeIndex, operator.inputs, operator.outputs = number, ins, outs
        if number == 0:
            operator.builtinOptionsType = schema.BuiltinOptions.FullyConnectedOptions
            operator.builtinOptions = schema.FullyConnectedOptionsT()
        graph.operators.append(operator)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))
    return path


def test_a_single_sigmoid(tmp_path: Path) -> None:
    """One int8 probability becomes two classes, and the features are the dense layer's inputs."""
    path = write_sigmoid(tmp_path / "wake.tflite")
    rows = np.random.default_rng(1).integers(-128, 128, (50, 6), np.int8)
    tap = LiteRTTap(path)
    stream = record(tap, rows, np.arange(50) % 2, classes=["other", "wake"])
    assert (stream.kind, stream.classes, tap.layer) == ("probabilities", 2, "x")
    shares = (engine(path, rows).astype(float) + 128) / 256
    np.testing.assert_array_equal(stream.posteriors, np.hstack([1 - shares, shares]))
    assert len(np.unique(shares)) > 10
    with pytest.raises(InputError, match=r"inputs must be one array, .* got x"):
        record(tap, {"x": rows})


@pytest.mark.parametrize(
    ("factor", "message"), [(255.0, "the range that the model was"), (np.nan, "must be finite")]
)
def test_inputs_outside_the_models_range_are_refused(
    mlperf: Find, factor: float, message: str
) -> None:
    """Real inputs of an int8 model that lie outside its range, or are none, are refused."""
    images = factor * np.random.default_rng(0).random((2, 96, 96, 3))
    with pytest.raises(InputError, match=message):
        record(open_tap(mlperf("vww_96_int8")), images)
