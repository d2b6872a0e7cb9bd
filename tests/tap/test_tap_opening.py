# SPDX-License-Identifier: Apache-2.0
"""Which tap opens what, and what happens without its library; tcuq record and its page."""

import json
import re
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import tcuq
from tcuq.cli import main
from tcuq.errors import InputError, MissingExtraError
from tcuq.tap import open_tap, record
from tcuq.tap.litert import LiteRTTap

Find = Callable[[str], Path]
PAGE = (Path(__file__).parents[2] / "docs/howto/record.md").read_text("utf-8")
SECTION = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCKS = {
    title: code[1]
    for title, text in SECTION.findall(PAGE)
    if (code := re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
}
LIBRARIES = {
    "LiteRT": ["ai_edge_litert"],
    "ONNX": ["onnx", "onnxruntime"],
    "Keras": ["keras"],
    "ExecuTorch": ["executorch.runtime"],
    "PyTorch": ["torch"],
    "Hugging Face": ["torch", "transformers"],
    "scikit-learn": ["sklearn", "pandas"],
    "Your own code": ["pandas"],
}
SIZES = {  # steps, classes, features, share of labels
    "LiteRT": (20, 12, 64, 1.0),
    "ONNX": (200, 3, 4, 0.0),
    "Keras": (200, 2, 8, 0.0),
    "ExecuTorch": (200, 3, 8, 0.0),
    "PyTorch": (200, 3, 8, 1.0),
    "Hugging Face": (50, 3, 16, 0.0),
    "scikit-learn": (200, 2, 4, 1.0),
    "Your own code": (3, 2, 0, 2 / 3),
}


@pytest.mark.parametrize(
    ("library", "ending", "extra"),
    [
        ("ai_edge_litert", "tflite", "litert"),
        ("onnxruntime", "onnx", "onnx"),
        ("onnx",) * 3,
        ("keras",) * 3,
    ],
)
def test_a_missing_library_is_named(
    library: str, ending: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says which extra to install."""
    (tmp_path / f"m.{ending}").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'tcuq\[{extra}\]'"):
        open_tap(tmp_path / f"m.{ending}")


@pytest.mark.parametrize("name", ["m.pt", "m.pkl", "m.joblib", "m", "a:b:c", "../m:f", "m:"])
def test_other_files_are_refused(name: str) -> None:
    """Pickles are never loaded, whatever they are called."""
    with pytest.raises(
        InputError, match=r"model must end in \.tflite, \.onnx, \.keras or \.pte, or be"
    ):
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
    facts = json.loads(capsys.readouterr().out)
    stream = tcuq.Stream.load(out)
    assert facts["layer"] == "functional_1/flatten/Reshape"
    assert stream.sha256 == facts["sha256"]
    expected = record(open_tap(model), inputs, labels, starts=[0, 10])
    assert stream.sha256 == expected.sha256
    scale, zero_point = LiteRTTap(model).quantisation
    assert facts["feature_codes"] == f"{scale!r},{zero_point}"
    right = (stream.posteriors.argmax(axis=1) == labels).mean()
    assert facts["accuracy"] == right


FACTORY = """
import dataclasses
import torch

@dataclasses.dataclass
class Sizes:
    hidden: "int" = 8

def make():
    torch.manual_seed(0)
    width = Sizes().hidden
    return torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.Linear(width, 3))
"""


@pytest.mark.parametrize(
    "model", ["my_model.py:make", "my_model:make", "{folder}/my_model.py:make"]
)
def test_record_takes_a_factory(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function in a file is found by its path or where one stands, and sys.path stays."""
    (tmp_path / "my_model.py").write_text(FACTORY)
    np.savez(tmp_path / "d.npz", inputs=np.ones((5, 4), np.float32))
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    given = [model.format(folder=tmp_path), "d.npz", "-o", "s.npz", "--kind", "logits"]
    assert main(["record", *given]) == 0
    assert "layer         input of 1" in capsys.readouterr().out
    assert tcuq.Stream.load("s.npz").width == 8
    assert sys.path == before
    assert "my_model" not in sys.modules


@pytest.mark.parametrize(
    ("source", "model", "message"),
    [
        (FACTORY, "my_model.py:nothing", "has no attribute 'nothing'"),
        (FACTORY, "other.py:make", "No such file or directory"),
        (FACTORY, "other:make", "No module named 'other'"),
        ("import beside_me", "my_model.py:make", "(set PYTHONPATH=. to import modules beside it)"),
    ],
)
def test_factory_that_is_not_there_is_refused(
    source: str, model: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the model and what is missing, in one line."""
    (tmp_path / "my_model.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        open_tap(model)
    assert str(caught.value).startswith(f"model {model!r}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_model_or_no_tap_is_refused() -> None:
    """A factory must return a model; a model in the place of a tap gets the line to write."""
    with pytest.raises(InputError, match=r"must be a torch module, .*got collections\.OrderedDict"):
        open_tap("collections:OrderedDict")
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError, match=r"LogisticRegression: write  record\(open_tap\(model\),"):
        record(model, [[0.5]])


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
    ("arrays", "words", "message"),
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
    arrays: dict[str, Any], words: str, message: str, recorded: Callable[..., tuple[int, str, Path]]
) -> None:
    """What breaks a rule ends with exit code 1, one line, and no file."""
    code, error, out = recorded(arrays, *words.split())
    assert code == 1
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


def write_onnx(path: Path) -> None:
    """Write two layers over six values, and a softmax over three classes."""
    from tests.fixtures.onnx_models import save_onnx

    rng = np.random.default_rng(0)
    nodes = [("MatMul", "x v", "h"), ("MatMul", "h w", "logits"), ("Softmax", "logits", "p")]
    sizes = {"v": (6, 4), "w": (4, 3)}
    weights = {name: rng.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    save_onnx(path, nodes, {"x": ["n", 6]}, ["n", 3], weights)


@pytest.mark.parametrize("title", BLOCKS)
def test_python_of_the_section_runs(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlperf: Callable[[str], Path]
) -> None:
    """It makes a stream of the sizes that its model has."""
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        for category in (DeprecationWarning, FutureWarning):  # of the libraries themselves
            warnings.simplefilter("ignore", category)
        for library in LIBRARIES[title]:
            pytest.importorskip(library)
        if title == "ONNX":
            write_onnx(tmp_path / "activity.onnx")
        if title == "LiteRT":
            shutil.copy(mlperf("kws_ref_model"), tmp_path)
            rng = np.random.default_rng(0)
            inputs = rng.integers(-128, 128, (20, 49, 10), np.int8)
            np.savez(tmp_path / "keywords.npz", inputs=inputs, labels=np.arange(20) % 12)
        names: dict[str, Any] = {}
        exec(compile(BLOCKS[title], "record.md", "exec"), names)  # noqa: S102 - our own document
    stream = names["stream"]
    assert isinstance(stream, tcuq.Stream)
    assert (len(stream), stream.classes, stream.width, stream.labelled) == SIZES[title]
