# SPDX-License-Identifier: Apache-2.0
"""The package: its public face, its extras, its options' types and the streams in it."""

import inspect
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import tcuq
from tcuq import errors
from tcuq._extras import import_extra
from tcuq.errors import MissingExtraError
from tcuq.options import FitOptions

BOX = Path(tcuq.__file__).parent / "data/keywords"


def test_public_face_is_exact() -> None:
    """Everything in __all__ is there, once, nothing else shows, and each error is in its tree."""
    assert len(set(tcuq.__all__)) == len(tcuq.__all__)
    for name in tcuq.__all__:
        assert getattr(tcuq, name) is not None
    assert set(dir(tcuq)) == set(tcuq.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(tcuq, "nothing")  # noqa: B009 - type checkers refuse the attribute
    names = [name for name, kind in vars(errors).items() if inspect.isclass(kind)]
    assert names
    assert all(name in (errors.__doc__ or "") for name in names)


def test_running_a_profile_imports_numpy_alone() -> None:
    """`import tcuq` brings in no optional library, and neither do the taps before they are used."""
    extras = ("sklearn", "scipy", "pyarrow", "ai_edge_litert", "onnx", "onnxruntime", "torch")
    code = f"import sys, tcuq, tcuq.tap; print([m for m in {extras} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_every_option_is_a_typed_keyword() -> None:
    """Each option has a name, a type and a place in the docstring."""
    parameters = inspect.signature(tcuq.fit).parameters
    assert {field.name for field in fields(FitOptions)} < set(parameters)
    for parameter in parameters.values():
        assert parameter.kind is not inspect.Parameter.VAR_KEYWORD
        assert parameter.annotation is not inspect.Parameter.empty
        assert parameter.name in (tcuq.fit.__doc__ or "")


def test_a_profile_is_short_on_screen(profile: tcuq.Profile) -> None:
    """A profile holds thousands of numbers; its repr is a line."""
    assert len(repr(profile)) <= 600
    assert repr(profile).startswith(f"<Profile {profile.sha256[:8]}: 10 classes, 32 features")


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra, even if a submodule was loaded earlier."""
    import pyarrow.parquet

    assert import_extra("pyarrow.parquet", "parquet") is pyarrow.parquet
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"^pyarrow is not .*'tcuq\[parquet\]'$"):
        import_extra("pyarrow.parquet", "parquet")


def test_a_broken_library_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If an installed library misses a dependency, the error names the dependency."""
    (tmp_path / "half_installed.py").write_text("import what_it_needs\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="what_it_needs") as caught:
        import_extra("half_installed", "half")
    assert not isinstance(caught.value, MissingExtraError)


def test_bundled_streams_fit_in_a_megabyte() -> None:
    """The bundled streams are at most 1 MB in all, with their attribution."""
    assert sum(path.stat().st_size for path in BOX.iterdir()) <= 1_000_000
    assert "MIT licence" in (BOX / "README.md").read_text("utf-8")
    assert "Permission is hereby granted" in (BOX / "LICENSE-AudioMNIST").read_text("utf-8")


def test_accuracies_beside_the_streams_are_true() -> None:
    """The table in the streams' README matches the files."""
    table = (BOX / "README.md").read_text("utf-8")
    rows = re.findall(
        r"^\| (\w+)(?:: [^|]*)? \| (\d+) \| (\d+) \| ([^|]*)\| ([^|]*)\| ([^|]*)\|",
        table,
        re.MULTILINE,
    )
    assert {name for name, *_ in rows} == {path.stem for path in BOX.glob("*.npz")}
    with np.load(BOX / "test.npz") as file:
        right_without = file["posteriors"].argmax(axis=1) == file["labels"]
    for name, recordings, steps, clean, faulted, cost in rows:
        with np.load(BOX / f"{name}.npz") as file:
            labels, shifted = file["labels"], file["shifted"]
            right = file["posteriors"].argmax(axis=1) == labels
            assert (len(file["starts"]), len(labels)) == (int(recordings), int(steps))
        for cell, at in ((clean, ~shifted), (faulted, shifted)):
            known = at & (labels >= 0)
            expected = f"{100 * right[known].mean():.1f} % of {known.sum()}" if known.any() else ""
            assert cell.strip() == expected, name
        if name.startswith("fault_"):
            lost = right_without[shifted].mean() - right[shifted].mean()
            assert cost.strip() == f"{100 * lost:.1f}", name
