# SPDX-License-Identifier: Apache-2.0
"""Change state: devices' pasts and last epochs as rows, and what a newly closed epoch does to them.

Pure functions of arrays: the judge reads and writes them through `change_store`, and measurements
call them without a store.
"""

import numpy as np

from tcuq_fleet.judge.change import (
    MIN_PAST,
    MIN_PEERS,
    NAMES,
    NOT_SCORED,
    Array,
    Peers,
    change,
    distance_buckets,
    fold,
    rise_buckets,
)

PEERS = 5_000  # devices whose changes are fitted, of each owner and profile
STATE = np.dtype(
    [
        ("device", ">i8"), ("owner", ">i4"), ("profile", ">i4"), ("epoch", ">i4"),
        ("past_epochs", ">i2"), ("past", ">f4", len(NAMES)), ("last", ">i2", len(NAMES)),
        ("score", ">i2"), ("moved", ">i2"),
    ]
)  # fmt: skip
CLOSED = np.dtype([*STATE.descr, ("new", ">i2", len(NAMES)), ("known", ">i2"), ("held", ">i2")])

Key = tuple[int, int]  # owner and profile: devices that are peers
PEER = np.dtype(
    [
        ("device", ">i8"), ("owner", ">i4"), ("profile", ">i4"), ("past_epochs", ">i2"),
        ("past", ">f4", len(NAMES)), ("last", ">i2", len(NAMES)),
    ]
)  # fmt: skip


def folded(closed: Array) -> Array:
    """Return the devices' new states, not scored yet."""
    states = np.zeros(len(closed), STATE)
    for name in ("device", "owner", "profile", "epoch", "past_epochs", "past"):
        states[name] = closed[name]
    moves = np.flatnonzero((closed["known"] == 1) & (closed["held"] == 0))
    epochs = closed["past_epochs"][moves].astype(np.int64)
    states["past"][moves], states["past_epochs"][moves] = fold(
        closed["last"][moves].astype(float), closed["past"][moves].astype(float), epochs
    )
    states["last"], states["score"] = closed["new"], NOT_SCORED
    return states


def scored(states: Array, sample: Array) -> Array:
    """Return states with their scores among the peers of each owner and profile.

    `sample` has other peers' states; those of the same devices are out of date.
    """
    states = states.copy()
    sample = sample[~np.isin(sample["device"], states["device"])]
    ready = np.flatnonzero(states["past_epochs"] >= MIN_PAST)
    for owner, profile in _keys(states[ready]):
        rows = ready[(states["owner"][ready] == owner) & (states["profile"][ready] == profile)]
        others = sample[(sample["owner"] == owner) & (sample["profile"] == profile)]
        if len(rows) + len(others) < MIN_PEERS:
            continue
        changes = _changes(states[rows])
        every = max(1, (len(rows) + len(others)) // PEERS)
        peers = Peers.fit(np.concatenate([changes[::every], _changes(others)]))
        states["score"][rows] = distance_buckets(peers.distances(changes))
        states["moved"][rows] = peers.moved(changes)
    return states


def _changes(states: Array) -> Array:
    return change(
        states["last"].astype(float),
        states["past"].astype(float),
        states["past_epochs"].astype(float),
    )


def _keys(rows: Array) -> list[Key]:
    pairs = np.unique(np.stack([rows["owner"], rows["profile"]], axis=1).astype(np.int64), axis=0)
    return [(int(owner), int(profile)) for owner, profile in pairs]


def calm_rows(closed: Array) -> tuple[Array, Array, Array]:
    """Return the rows whose previous epochs are reference now, and the buckets of their scores.

    A device shows the larger evidence of its closed and its running epoch, so the reference does.
    """
    calm = closed[(closed["known"] == 1) & (closed["held"] == 0) & (closed["score"] >= 0)]
    evidence = np.maximum(calm["last"][:, -1], calm["new"][:, -1]).astype(float)
    return calm, calm["score"], rise_buckets(evidence, calm["past"][:, -1].astype(float))
