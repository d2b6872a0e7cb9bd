# SPDX-License-Identifier: Apache-2.0
"""Damaged profiles: a small valid one, changed in its structure or in its bytes."""

import copy
import functools
import hashlib
import json
import warnings
from typing import Any

import numpy as np
from hypothesis import strategies as st

import tcuq

numbers = st.one_of(
    st.integers(),
    st.integers(-3, 70),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0, 1, -1, 1.0, 2**31, 2**63, 10**30, 10**400, 1e308, -0.0, 5e-324]),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    numbers,
    st.text(max_size=8),
    st.sampled_from(["tcuq", "anchored", "logits", "novelty", "upper", "guarded", "\ud800"]),
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=6,
)


def small_profiles() -> tuple[bytes, ...]:
    """One document of each score, two classes and two features."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(600, 2))
    posteriors = rng.dirichlet((1.0, 1.0), 600)
    stream = tcuq.Stream(posteriors, features, rng.integers(0, 2, 600))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcuq.CalibrationWarning)
        fitted = [
            tcuq.fit(stream),
            tcuq.fit(stream, stream, preset="paper"),
        ]
    return tuple(profile.to_json().encode() for profile in fitted)


DOCUMENTS = small_profiles()


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document, the long tables by their first entries only."""
    found = [path] if path else []
    items = document.items() if isinstance(document, dict) else enumerate(document[:3])
    for key, value in items:
        if isinstance(value, dict | list):
            found += places(value, (*path, key))
        else:
            found.append((*path, key))
    return found


def rehashed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the hash of its content, so that what is checked next is the content."""
    content = {k: v for k, v in document.items() if k not in ("format", "sha256")}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return {**document, "sha256": hashlib.sha256(canonical.encode()).hexdigest()}


@st.composite
def damaged_documents(draw: Any) -> bytes:
    """A profile with some members replaced, removed, repeated or added, mostly with a true hash."""
    document = copy.deepcopy(json.loads(draw(st.sampled_from(DOCUMENTS))))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(document)))
        parent = functools.reduce(lambda at, key: at[key], path[:-1], document)
        match draw(st.sampled_from(["replace", "remove", "repeat", "add"])):
            case "replace":
                parent[path[-1]] = draw(values)
            case "remove":
                del parent[path[-1]]
            case "repeat" if isinstance(parent, list):
                parent.append(parent[path[-1]])
            case _ if isinstance(parent, dict):
                parent[draw(st.text(max_size=6))] = draw(values)
    return json.dumps(rehashed(document) if draw(st.integers(0, 9)) else document).encode()


@st.composite
def damaged_bytes(draw: Any) -> bytes:
    """A profile with bytes cut, changed or inserted."""
    data = bytearray(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(data)))
        end = begin + draw(st.integers(0, 40))
        data[begin:end] = draw(st.binary(max_size=6))
    return bytes(data)


damaged = st.one_of(damaged_documents(), damaged_documents(), damaged_bytes())
