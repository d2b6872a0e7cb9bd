# SPDX-License-Identifier: Apache-2.0
"""The snapshot: a float monitor's state as bytes, bound to its profile by hash, with a CRC-32.

JSON, because Python writes a float so that reading it back gives the same bits. The device's own
snapshot is another format: its state is integers.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import SnapshotError

FORMAT = "tcuq.snapshot/1"

State = dict[str, NDArray[Any]]


class Stateful(Protocol):
    """A stage whose state can be read and put back."""

    @property
    def state(self) -> State:
        """What must survive for the next step to come out the same."""

    @state.setter
    def state(self, state: State) -> None: ...


def pack(profile_sha256: str, states: Mapping[str, State]) -> bytes:
    """The states of all stages as one snapshot."""
    content = {
        "format": FORMAT,
        "profile": profile_sha256,
        "state": {
            stage: {name: values.tolist() for name, values in state.items()}
            for stage, state in states.items()
        },
    }
    return json.dumps({"crc32": _crc32(content), **content}).encode()


def unpack(snapshot: bytes, profile_sha256: str, like: Mapping[str, State]) -> dict[str, State]:
    """The states in a snapshot, each of the type and row shape of the one it is like."""
    document = _parse(snapshot)
    if document.get("format") != FORMAT:
        raise SnapshotError(f"format must be {FORMAT!r}, got {str(document.get('format'))[:60]!r}")
    crc32 = document.pop("crc32", None)
    if crc32 != _crc32(document):
        raise SnapshotError(f"crc32 must be {_crc32(document)}, got {str(crc32)[:60]}: damaged")
    if document.get("profile") != profile_sha256:
        raise SnapshotError(
            f"profile must be {profile_sha256[:8]}, got {str(document.get('profile'))[:8]}:"
            " the snapshot belongs to another profile"
        )
    return {
        stage: {name: _array(document, stage, name, old) for name, old in state.items()}
        for stage, state in like.items()
    }


def within(name: str, values: NDArray[Any], low: float, high: float) -> NDArray[Any]:
    """The values, if all of them lie in low..high."""
    if values.size and not (values.min() >= low and values.max() <= high):
        raise SnapshotError(f"{name} must lie in {low}..{high}, got {values.min()}..{values.max()}")
    return values


def single(name: str, state: State, low: int, high: int) -> int:
    """The one integer of this name, if it lies in low..high."""
    values = within(name, state[name], low, high)
    if len(values) != 1:
        raise SnapshotError(f"{name} must have 1 entry, got {len(values)}")
    return int(values[0])


def _parse(snapshot: bytes) -> dict[str, Any]:
    def refuse(name: str) -> None:
        raise SnapshotError(f"numbers must be finite, got {name}")

    try:
        document = json.loads(snapshot, parse_constant=refuse)
    except SnapshotError:
        raise
    except (ValueError, RecursionError):
        raise SnapshotError("not a snapshot: it cannot be read as JSON") from None
    if not isinstance(document, dict):
        raise SnapshotError(f"not a snapshot: it holds a {type(document).__name__}")
    return document


def _crc32(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def _array(document: Mapping[str, Any], stage: str, name: str, like: NDArray[Any]) -> NDArray[Any]:
    """One array, of the same type, rank and row length as in a new monitor."""
    try:
        values = np.array(document["state"][stage][name])
    except (KeyError, TypeError, ValueError):
        raise SnapshotError(f"{stage}.{name} is missing or not an array") from None
    if values.shape == (0,):
        values = values.reshape(0, *like.shape[1:])
    numbers = "iu" if like.dtype.kind == "i" else "fiu"
    if values.size and values.dtype.kind not in numbers:
        raise SnapshotError(f"{stage}.{name} must hold {like.dtype}, got {values.dtype}")
    if values.ndim != like.ndim or values.shape[1:] != like.shape[1:]:
        raise SnapshotError(
            f"{stage}.{name} must have rows of shape {like.shape[1:]}, got {values.shape}"
        )
    return values.astype(like.dtype)
