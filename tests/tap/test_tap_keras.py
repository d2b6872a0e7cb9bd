# SPDX-License-Identifier: Apache-2.0
import json
import zipfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import layers
from numpy.typing import NDArray

import tcuq
from tcuq.cli import main
from tcuq.errors import InputError
from tcuq.stream import Kind
from tcuq.tap import open_tap, record
from tcuq.tap.keras import KerasTap

# Keras' own, on its torch backend with NumPy 2.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

Array = NDArray[Any]
ROWS: Array = np.random.default_rng(0).normal(size=(100, 16, 3)).astype(np.float32)


def small(*, units: int = 4, activation: str | None = "softmax") -> Any:
    """A convolution, a pool, dropout and a dense layer over 16 samples of 3 axes."""
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [
            layers.Input((16, 3)),
            layers.Conv1D(8, 3, activation="relu", name="conv"),
            layers.BatchNormalization(),
            layers.GlobalAveragePooling1D(),
            layers.Dropout(0.5),
            layers.Dense(units, activation=activation, name="head"),
        ]
    )


def test_a_sequential_by_itself_and_by_name() -> None:
    """The model's own probabilities, made of the features by its head; a named layer's output."""
    model = small()
    tap = open_tap(model)
    stream = record(tap, ROWS)
    assert (stream.kind, tap.layer, stream.width) == ("probabilities", "input of head", 8)
    np.testing.assert_allclose(stream.posteriors, model.predict(ROWS, verbose=0), atol=1e-6)
    again = keras.ops.convert_to_numpy(model.get_layer("head")(stream.features))
    np.testing.assert_allclose(again, stream.posteriors, atol=1e-6)
    stream = record(open_tap(small(), "conv"), ROWS, pool="mean")
    assert stream.width == 8
    with pytest.raises(InputError, match=r"layer must be one of the model's, such as .*'conv'"):
        open_tap(small(), "konv")


@pytest.mark.parametrize(("activation", "kind"), [("sigmoid", "probabilities"), (None, "logits")])
def test_one_output(activation: str | None, kind: Kind) -> None:
    """A single sigmoid or logit becomes two classes."""
    model = small(units=1, activation=activation)
    stream = record(open_tap(model, kind=kind), ROWS, np.arange(100) % 2)
    assert (stream.kind, stream.classes) == (kind, 2)
    np.testing.assert_allclose(stream.posteriors[:, 1:], model.predict(ROWS, verbose=0), atol=1e-6)


def test_batches_of_any_size() -> None:
    """A first batch's shape does not bind the next; loaders work as they do for other taps."""
    model = keras.Sequential([layers.Flatten(), layers.Dense(5), layers.Dense(3), layers.Softmax()])
    model(ROWS[:7])
    stream = record(open_tap(model), ROWS)
    assert (len(stream), stream.width, stream.kind) == (100, 5, "probabilities")
    expected = record(KerasTap(small(), batch=50), ROWS, np.arange(100) % 4).sha256
    parts = ((ROWS[at : at + 50], np.arange(at, at + 50) % 4) for at in (0, 50))
    assert record(KerasTap(small(), batch=50), parts).sha256 == expected


def test_an_unknown_kind_must_be_given() -> None:
    """An activation that is neither softmax nor sigmoid does not tell; softmax does."""
    model = small(activation="relu")
    with pytest.raises(InputError, match="its kind must be given"):
        record(open_tap(model), ROWS)
    assert record(open_tap(model, kind="logits"), ROWS).kind == "logits"
    with pytest.raises(InputError, match="kind must be 'probabilities', as the model ends"):
        open_tap(small(), kind="logits")


def two_headed() -> Any:
    """Two named inputs, two outputs."""
    sound, motion = keras.Input((16, 3), name="sound"), keras.Input((2,), name="motion")
    joined = layers.Concatenate()([layers.Flatten()(sound), motion])
    shared = layers.Dense(6, name="shared")(joined)
    return keras.Model(
        [sound, motion], [layers.Dense(3, name="word")(shared), layers.Dense(2, name="who")(shared)]
    )


def test_named_inputs_and_outputs() -> None:
    """A dictionary feeds the inputs by name, the output and the layer are named."""
    model = two_headed()
    named = {"motion": ROWS[:, 0, :2], "sound": ROWS}
    tap = open_tap(model, "shared", output="word", kind="logits")
    stream = record(tap, named)
    assert (stream.classes, stream.width) == (3, 6)
    own = model.predict([named["sound"], named["motion"]], verbose=0)[0]
    np.testing.assert_allclose(stream.posteriors, own, atol=1e-6)
    with pytest.raises(InputError, match="a dictionary of sound, motion, got ndarray"):
        record(tap, ROWS)
    with pytest.raises(InputError, match="output must be named, one of word, who"):
        record(open_tap(model, "shared", kind="logits"), named)
    with pytest.raises(InputError, match="layer must be named"):
        open_tap(model, output="word", kind="logits")


def test_models_without_a_reachable_last_layer_are_refused() -> None:
    """Without a graph, or with a network as last layer, the message says what to do."""

    class Own(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.head = layers.Dense(3)

        def call(self, rows: Any) -> Any:
            return self.head(rows)

    model = Own()
    model(ROWS[:, 0])
    with pytest.raises(InputError, match=r"record yours as  tcuq\.Stream\("):
        open_tap(model)
    model = keras.Sequential([layers.Input((16, 3)), layers.Rescaling(0.5, name="half"), small()])
    with pytest.raises(InputError, match=r"layer must be named, .*half, sequential"):
        open_tap(model)


def test_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`tcuq record` takes a `.keras` file."""
    model, out = tmp_path / "m.keras", tmp_path / "s.npz"
    small().save(model)
    np.savez(tmp_path / "d.npz", inputs=ROWS)
    assert main(["record", str(model), str(tmp_path / "d.npz"), "-o", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["layer"] == "input of head"
    assert tcuq.Stream.load(out).sha256 == record(open_tap(small()), ROWS).sha256


def lambda_file(path: Path) -> None:
    """A model that holds Python code."""
    keras.Sequential([layers.Input((3,)), layers.Lambda(lambda x: x * 2), layers.Dense(2)]).save(
        path
    )


def archive_of_nothing(path: Path) -> None:
    """A zip file of another kind."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "b")


@pytest.mark.parametrize(
    "write", [lambda_file, archive_of_nothing, lambda p: p.write_bytes(b"x"), lambda _: None]
)
def test_a_file_that_is_no_model_is_refused(write: Any, tmp_path: Path) -> None:
    """Code in a file is not run; the error is ours, names the file and is one line."""
    write(tmp_path / "m.keras")
    with pytest.raises(InputError, match=r"m\.keras: not a model that Keras can load") as caught:
        open_tap(tmp_path / "m.keras")
    assert "\n" not in str(caught.value)


def test_inputs_that_the_model_cannot_take_are_refused() -> None:
    """The reason that Keras gives over many lines is in one."""
    with pytest.raises(InputError, match="inputs are refused by the Keras model: ") as caught:
        record(open_tap(small()), ROWS[:, :, :2])
    assert "\n" not in str(caught.value)
