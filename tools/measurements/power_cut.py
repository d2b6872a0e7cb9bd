# SPDX-License-Identifier: Apache-2.0
"""Power cuts and damaged snapshots: what the device survives, and what it refuses."""

import zlib
from collections.abc import Callable, Iterator

import numpy as np

import tcuq
from tcuq.decision import Trace
from tcuq.monitor import Monitor

Damage = Callable[[bytes, np.random.Generator], bytes]


def same_from(step: int, rest: Trace, whole: Trace) -> bool:
    """Whether a trace is the end of another, in everything."""
    return all((getattr(rest, n) == getattr(whole, n)[step:]).all() for n in Trace.__slots__)


def survived_cuts(profile: tcuq.Profile, stream: tcuq.Stream, cuts: int, seed: int) -> int:
    """After how many cuts at random steps a new monitor goes on as if there had been none.

    Decisions to the end of the stream, and the state then, must be those of a run without a cut.
    """
    whole, before = Monitor(profile), Monitor(profile)
    rows, features = whole.quantize(stream.posteriors, stream.features)
    wide = np.empty((len(rows), 0), np.int8) if features is None else features
    trace, end = whole.run(rows, features), whole.snapshot()
    survived, done = 0, 0
    for cut in np.sort(np.random.default_rng(seed).integers(0, len(rows) + 1, cuts)).tolist():
        before.run(rows[done:cut], None if features is None else wide[done:cut])
        done, after = cut, Monitor(profile)
        after.restore(before.snapshot())
        rest = after.run(rows[cut:], None if features is None else wide[cut:])
        survived += same_from(cut, rest, trace) and after.snapshot() == end
    return survived


def _flip_bits(snapshot: bytes, rng: np.random.Generator) -> bytes:
    damaged = bytearray(snapshot)
    for at, bit in rng.integers(0, [[len(damaged), 8]], (int(rng.integers(1, 9)), 2)).tolist():
        damaged[at] ^= 1 << bit
    return bytes(damaged)


def _change_bytes(snapshot: bytes, rng: np.random.Generator) -> bytes:
    damaged = bytearray(snapshot)
    for at, value in rng.integers(0, [[len(damaged), 256]], (int(rng.integers(1, 9)), 2)).tolist():
        damaged[at] = value
    return bytes(damaged)


def _truncate(snapshot: bytes, rng: np.random.Generator) -> bytes:
    return snapshot[: int(rng.integers(len(snapshot)))]


def _extend(snapshot: bytes, rng: np.random.Generator) -> bytes:
    return snapshot + rng.bytes(int(rng.integers(1, 64)))


def _swap_parts(snapshot: bytes, rng: np.random.Generator) -> bytes:
    at = int(rng.integers(1, len(snapshot)))
    return snapshot[at:] + snapshot[:at]


def _zero_range(snapshot: bytes, rng: np.random.Generator) -> bytes:
    begin, end = sorted(rng.integers(0, len(snapshot) + 1, 2).tolist())
    return snapshot[:begin] + bytes(end - begin) + snapshot[end:]


def _make_foreign(snapshot: bytes, rng: np.random.Generator) -> bytes:
    """Another profile's hash under a true checksum."""
    body = snapshot[:4] + rng.bytes(4) + snapshot[8:-4]
    return body + zlib.crc32(body).to_bytes(4, "little")


DAMAGES: tuple[Damage, ...] = (
    _flip_bits, _change_bytes, _truncate, _extend, _swap_parts, _zero_range, _make_foreign,
)  # fmt: skip


def damaged_snapshots(snapshot: bytes, count: int, seed: int) -> Iterator[bytes]:
    """As many that differ from the snapshot, of every kind of damage in turn."""
    rng, total = np.random.default_rng(seed), 0
    while total < count:
        damaged = DAMAGES[total % len(DAMAGES)](snapshot, rng)
        if damaged != snapshot:
            total += 1
            yield damaged


def refused_snapshots(monitor: Monitor, count: int, seed: int) -> int:
    """How many damaged snapshots of its own state a monitor refuses and stays as it was."""
    state, refused = monitor.snapshot(), 0
    for damaged in damaged_snapshots(state, count, seed):
        try:
            monitor.restore(damaged)
        except tcuq.SnapshotError:
            refused += monitor.snapshot() == state
    return refused
