# SPDX-License-Identifier: Apache-2.0
"""Real data where it is present; CI has the sets in `$TCUQ_DATA`."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tcuq_benchmark.data.files import is_present, manifest
from tcuq_benchmark.data.identity import BUNDLED


@pytest.fixture(scope="session")
def load() -> Callable[[str], Any]:
    """Load a set once per session; a missing set skips the test."""
    cache: dict[str, Any] = {}

    def load_once(name: str) -> Any:
        if name not in BUNDLED and not is_present(name):
            pytest.skip(f"{name} not found: {manifest()[name].remedy}")
        if name not in cache:
            cache[name] = importlib.import_module(f"tcuq_benchmark.data.{name}").load()
        return cache[name]

    return load_once


@pytest.fixture
def empty_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return empty data folders: `configured` for $TCUQ_DATA and `cache`."""
    monkeypatch.setenv("TCUQ_DATA", str(tmp_path / "configured"))
    monkeypatch.setenv("TCUQ_CACHE", str(tmp_path / "cache"))
    return tmp_path
