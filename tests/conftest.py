# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several test files share."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.cli import main
from tcuq.demo import demo_stream
from tcuq.stream import Kind

ROOT = Path(__file__).parents[1]  # a relative $TCUQ_DATA starts here, wherever a test stands
DWELL = 20  # mean steps a class stays


@pytest.fixture(scope="session")
def test_stream() -> tcuq.Stream:
    """The test stream in the box: real, labelled, in distribution."""
    return demo_stream("test")


@pytest.fixture(scope="session")
def synthetic() -> Callable[..., tcuq.Stream]:
    """Small random streams whose classes stay for a while; `columns` go to Stream as they are."""

    def make(
        steps: int = 600,
        classes: int = 3,
        width: int = 4,
        seed: int = 0,
        kind: Kind = "probabilities",
        **columns: Any,
    ) -> tcuq.Stream:
        rng = np.random.default_rng(seed)
        turns = np.where(rng.random(steps) < 1 / DWELL, np.arange(steps), 0)
        labels = rng.integers(0, classes, steps)[np.maximum.accumulate(turns)]
        posteriors = rng.normal(size=(steps, classes))
        posteriors[np.arange(steps), labels] += 3
        centres = 3 * rng.normal(size=(classes, width))
        features = centres[labels] + rng.normal(size=(steps, width)) if width else None
        if kind == "probabilities":
            posteriors = np.exp(posteriors)
            posteriors /= posteriors.sum(axis=1, keepdims=True)
        return tcuq.Stream(posteriors, features, kind=kind, **{"labels": labels, **columns})

    return make


@pytest.fixture(scope="session")
def mlperf() -> Callable[[str], Path]:
    """Find a model of MLPerf Tiny in `$TCUQ_DATA`; fail the test if it is missing."""

    def find(name: str) -> Path:
        folder = ROOT / os.environ.get("TCUQ_DATA", "../shared/data") / "mlperf-tiny"
        if not (folder / f"{name}.tflite").is_file():
            pytest.fail(f"{folder} has no {name}: TCUQ_DATA must name the folder of the data sets")
        return folder / f"{name}.tflite"

    return find


@pytest.fixture
def output_of(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must succeed without standard error; return its standard output."""

    def run(*arguments: object) -> str:
        assert main([str(argument) for argument in arguments]) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        return captured.out

    return run


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must end with 1; return its one line."""

    def run(*arguments: object) -> str:
        assert main([str(argument) for argument in arguments]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("tcuq: ")
        assert captured.err.count("\n") == 1
        return captured.err.removeprefix("tcuq: ")

    return run


def put_member(document: Any, path: str, value: object) -> None:
    """Change the member at `a.0.b` of a document, or remove it by `...`."""
    *places, last = [int(name) if name.isdigit() else name for name in path.split(".")]
    holder = document
    for place in places:
        holder = holder[place]
    if value is ...:
        del holder[last]
    else:
        holder[last] = value


@pytest.fixture(scope="session")
def put() -> Callable[[Any, str, object], None]:
    """Changes or removes one member of a document."""
    return put_member


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory, profile: tcuq.Profile) -> str:
    """The recommended profile in a file."""
    path = tmp_path_factory.mktemp("profile") / "p.json"
    profile.save(path)
    return str(path)


@pytest.fixture(scope="session")
def altered() -> Callable[..., dict[str, Any]]:
    """A profile's document with one member changed, or removed by `...`, and hashed again."""

    def alter(profile: tcuq.Profile, path: str, value: object) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(profile.to_json())
        put_member(document, path, value)
        head = ("format", "sha256", "checksum")
        content = {k: v for k, v in document.items() if k not in head}
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
        if path != "checksum":
            document["checksum"] = hashlib.sha256(canonical.encode()).hexdigest()
        return document

    return alter
