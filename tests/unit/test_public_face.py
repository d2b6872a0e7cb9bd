# SPDX-License-Identifier: Apache-2.0
"""What `import tcuq` gives, and what it brings in."""

import inspect
import subprocess
import sys

import pytest

import tcuq
from tcuq import errors


def test_public_face_is_exact() -> None:
    """Everything in __all__ is there, once, and nothing else shows."""
    assert len(set(tcuq.__all__)) == len(tcuq.__all__)
    for name in tcuq.__all__:
        assert getattr(tcuq, name) is not None
    assert set(dir(tcuq)) == set(tcuq.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(tcuq, "nothing")  # noqa: B009 - type checkers refuse the attribute


def test_running_a_profile_imports_numpy_alone() -> None:
    """`import tcuq` brings in no optional library, and neither do the taps before they are used."""
    extras = ("sklearn", "scipy", "pyarrow", "ai_edge_litert", "onnx", "onnxruntime", "torch")
    code = f"import sys, tcuq, tcuq.tap; print([m for m in {extras} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_every_error_is_in_the_tree() -> None:
    """The docstring of `tcuq.errors` lists each class."""
    names = [name for name, kind in vars(errors).items() if inspect.isclass(kind)]
    assert names
    assert all(name in (errors.__doc__ or "") for name in names)
