# SPDX-License-Identifier: Apache-2.0
"""Which tap opens what, and what happens without its library; `tcuq record`."""

import builtins
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tcuq.cli import main
from tcuq.errors import InputError, MissingExtraError
from tcuq.recording import load_stream
from tcuq.tap import open_tap, record
from tcuq.tap.litert import LiteRTTap

Find = Callable[[str], Path]


def hide(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Make a library look as if it were not installed."""
    real = builtins.__import__

    def without(wanted: str, *rest: Any) -> ModuleType:
        if wanted.partition(".")[0] == name:
            raise ImportError(f"No module named {name!r}", name=name)
        return real(wanted, *rest)

    monkeypatch.setattr(builtins, "__import__", without)


@pytest.mark.parametrize(
    ("library", "ending", "extra"),
    [("ai_edge_litert", "tflite", "litert"), ("onnxruntime", "onnx", "onnx"), ("onnx",) * 3],
)
def test_a_missing_library_is_named(
    library: str, ending: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says which extra to install."""
    (tmp_path / f"m.{ending}").write_bytes(b"x")
    hide(monkeypatch, library)
    with pytest.raises(MissingExtraError, match=rf"pip install 'tcuq\[{extra}\]'"):
        open_tap(tmp_path / f"m.{ending}")


@pytest.mark.parametrize("name", ["m.pt", "m.pkl", "m.joblib", "m", "a:b:c", "../m:f", "m:"])
def test_other_files_are_refused(name: str) -> None:
    """Pickles are never loaded, whatever they are called."""
    with pytest.raises(InputError, match=r"model must end in \.tflite or \.onnx"):
        open_tap(name)


def test_record_writes_a_stream(
    mlperf: Find, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tcuq record` keeps what the tap gives, with labels and starts, and says what it took."""
    rng = np.random.default_rng(0)
    inputs = rng.integers(-128, 128, (30, 49, 10), np.int8)
    labels = rng.integers(0, 12, 30)
    np.savez(tmp_path / "d.npz", inputs=inputs, labels=labels, starts=[0, 10])
    model, out = str(mlperf("kws_ref_model")), str(tmp_path / "s.parquet")
    assert main(["record", model, str(tmp_path / "d.npz"), "-o", out, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    stream = load_stream(out)
    assert said["layer"] == "functional_1/flatten/Reshape"
    assert stream.sha256 == said["sha256"]
    expected = record(open_tap(model), inputs, labels, starts=[0, 10])
    assert stream.sha256 == expected.sha256
    scale, zero_point = LiteRTTap(model).quantisation
    assert said["codes"] == f"{scale!r},{zero_point}"
    right = (stream.posteriors.argmax(axis=1) == labels).mean()
    assert said["accuracy"] == right


def test_record_takes_a_factory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`module:factory` is one's own code, found where one stands."""
    (tmp_path / "my_model.py").write_text(
        "import torch\n"
        "def make():\n"
        "    torch.manual_seed(0)\n"
        "    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 3))\n"
    )
    np.savez(tmp_path / "d.npz", inputs=np.ones((5, 4), np.float32))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["", *__import__("sys").path])
    assert main(["record", "my_model:make", "d.npz", "-o", "s.npz", "--kind", "logits"]) == 0
    assert "layer      input of 1" in capsys.readouterr().out
    assert load_stream("s.npz").width == 8
    assert main(["record", "my_model:nothing", "d.npz", "-o", "s.npz"]) == 1
    assert "no attribute 'nothing'" in capsys.readouterr().err


@pytest.fixture
def recorded(
    mlperf: Find, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, Path]]:
    """Runs `tcuq record` with the keyword network on arrays: exit code, error, output."""

    def run(arrays: dict[str, Any], *words: str) -> tuple[int, str, Path]:
        np.savez(tmp_path / "d.npz", allow_pickle=True, **arrays)
        out = tmp_path / "s.npz"
        given = [str(mlperf("kws_ref_model")), str(tmp_path / "d.npz"), "-o", str(out), *words]
        code = main(["record", *given])
        return code, capsys.readouterr().err, out

    return run


@pytest.mark.parametrize(
    ("arrays", "words", "said"),
    [
        ({"x": np.ones(3)}, "", "inputs are missing"),
        ({"inputs": np.array([{}])}, "", "holds Python objects"),
        ({"inputs": np.ones((0, 49, 10))}, "", "inputs must have the shape"),
        ({"inputs": np.array(["a"])}, "", "inputs must be real numbers"),
        ({"inputs": np.ones((3, 49, 10)), "labels": [0, 1]}, "", "labels must have the shape"),
        ({"inputs": np.ones((3, 49, 10))}, "--kind logits", "kind must be 'probabilities'"),
    ],
)
def test_record_refuses(
    arrays: dict[str, Any], words: str, said: str, recorded: Callable[..., tuple[int, str, Path]]
) -> None:
    """What breaks a rule ends with exit code 1, one line, and no file."""
    code, error, out = recorded(arrays, *words.split())
    assert code == 1
    assert said in error
    assert error.count("\n") == 1
    assert not out.exists()
