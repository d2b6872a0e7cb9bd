# SPDX-License-Identifier: Apache-2.0
"""The page about recording: the Python of every section runs where its library is installed."""

import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcuq

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


def write_onnx(path: Path) -> None:
    """Two layers over six values, and a softmax over three classes."""
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "w"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["p"]),
    ]
    graph = helper.make_graph(
        nodes,
        "activity",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6])],
        [helper.make_tensor_value_info("p", TensorProto.FLOAT, ["n", 3])],
        [
            numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name)
            for name, shape in (("v", (6, 4)), ("w", (4, 3)))
        ],
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=9)
    path.write_bytes(model.SerializeToString())


def test_every_section_is_run() -> None:
    """No section with Python is left out."""
    assert set(BLOCKS) == set(LIBRARIES) == set(SIZES)


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
