# SPDX-License-Identifier: Apache-2.0
"""Blobs that a device must refuse: damaged, cut, forged, replayed and downgraded ones."""

import hmac
from collections.abc import Callable

import numpy as np

from tools.firmware.blob_device import DAMAGED, FORGED, FORMAT, OLD

TAG_BYTES = 12
HEAD_BYTES = 104
NUMBER_AT = 12
Damage = Callable[[bytes, int, bytes, np.random.Generator], bytes]


def signed(body: bytes, key: bytes) -> bytes:
    """A body with its true tag."""
    return body + hmac.digest(key, body, "sha256")[:TAG_BYTES]


def numbered(blob: bytes, number: int, key: bytes) -> bytes:
    """The same blob under another number, with its true tag."""
    body = bytearray(blob[:-TAG_BYTES])
    body[NUMBER_AT : NUMBER_AT + 4] = number.to_bytes(4, "little")
    return signed(bytes(body), key)


def _flipped(blob: bytes, _number: int, _key: bytes, rng: np.random.Generator) -> bytes:
    damaged = bytearray(blob)
    for at in {int(at) for at in rng.integers(0, 8 * len(blob), int(rng.integers(1, 9)))}:
        damaged[at // 8] ^= 1 << (at % 8)
    return bytes(damaged)


def _overwritten(blob: bytes, _number: int, _key: bytes, rng: np.random.Generator) -> bytes:
    """A run of bytes is erased, or is that of another place."""
    damaged, size = bytearray(blob), int(rng.integers(1, 257))
    at, source = rng.integers(0, len(blob) - size, 2).tolist()
    damaged[at : at + size] = b"\xff" * size if rng.random() < 0.5 else blob[source : source + size]
    return bytes(damaged)


def _cut(blob: bytes, _number: int, _key: bytes, rng: np.random.Generator) -> bytes:
    return blob[: int(rng.integers(len(blob)))]


def _cut_and_said(blob: bytes, _number: int, _key: bytes, rng: np.random.Generator) -> bytes:
    """Cut to whole words, and its head states the new length."""
    damaged = bytearray(blob[: 4 * int(rng.integers(HEAD_BYTES // 4, len(blob) // 4))])
    damaged[8:12] = len(damaged).to_bytes(4, "little")
    return bytes(damaged)


def _forged(blob: bytes, number: int, _key: bytes, rng: np.random.Generator) -> bytes:
    return numbered(blob, number + 1, rng.bytes(32))


def _renumbered(blob: bytes, number: int, _key: bytes, rng: np.random.Generator) -> bytes:
    """A replayed blob whose number was raised by somebody without the key."""
    damaged = bytearray(blob)
    raised = number + int(rng.integers(1, 1000))
    damaged[NUMBER_AT : NUMBER_AT + 4] = raised.to_bytes(4, "little")
    return bytes(damaged)


def _replayed(blob: bytes, number: int, key: bytes, _rng: np.random.Generator) -> bytes:
    return numbered(blob, number, key)


def _downgraded(blob: bytes, number: int, key: bytes, rng: np.random.Generator) -> bytes:
    return numbered(blob, int(rng.integers(0, number)), key)


BROKEN = (FORMAT, DAMAGED, FORGED, OLD)
DAMAGES: dict[str, tuple[Damage, tuple[int, ...]]] = {
    "bits flipped": (_flipped, BROKEN),
    "bytes overwritten": (_overwritten, BROKEN),
    "cut off": (_cut, (DAMAGED, FORGED, FORMAT)),
    "cut off, length changed": (_cut_and_said, (DAMAGED, FORGED)),
    "signed with another key": (_forged, (FORGED,)),
    "renumbered without the key": (_renumbered, (FORGED,)),
    "replayed": (_replayed, (OLD,)),
    "downgraded": (_downgraded, (OLD,)),
}
