# SPDX-License-Identifier: Apache-2.0
"""Real data, where it is; the sets in `$TCUQ_DATA` are there in CI."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.data.files import is_present, manifest


@pytest.fixture(scope="session")
def load() -> Callable[[str], Any]:
    """What a loader returns, read once a session; a set that is nowhere skips the test."""
    read: dict[str, Any] = {}

    def loaded(name: str) -> Any:
        if not is_present(name):
            pytest.skip(f"no {name} here: {manifest()[name].remedy}")
        if name not in read:
            read[name] = importlib.import_module(f"benchmark.data.{name}").load()
        return read[name]

    return loaded


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty places to look for data in: `given` for $TCUQ_DATA and `cache`."""
    monkeypatch.setenv("TCUQ_DATA", str(tmp_path / "given"))
    monkeypatch.setenv("TCUQ_CACHE", str(tmp_path / "cache"))
    return tmp_path
