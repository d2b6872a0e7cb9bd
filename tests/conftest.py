# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several test files share."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.demo import demo_stream
from tcuq.stream import Kind

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
