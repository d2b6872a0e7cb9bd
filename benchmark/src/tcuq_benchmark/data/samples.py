# SPDX-License-Identifier: Apache-2.0
"""What loaders return: samples or recordings, split into four disjoint parts.

train: for the network. calibration: in distribution, never trained on, labels unused.
development: for choices. test: used once, after every choice is frozen.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

Part = Literal["train", "calibration", "development", "test"]
PARTS: tuple[Part, ...] = ("train", "calibration", "development", "test")
SPLIT_SEED = 0  # changing it would move test samples into training

Array = NDArray[Any]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Inputs (n, ...), labels (n,) and each sample's group: its person, speaker or batch.

    `row` is the position in the published data set: parts that share no row share no sample.
    """

    x: Array
    y: Ints
    group: Ints
    row: Ints
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.y)

    @property
    def sha256(self) -> str:
        """Hash of inputs and labels: the identity of these samples."""
        digest = hashlib.sha256()
        for column in (self.x, self.y):
            digest.update(f"{column.dtype.str}{column.shape}".encode())
            digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()

    def take(self, chosen: Array) -> Self:
        """Return the chosen samples, by index or by mask."""
        x, y, group, row = (column[chosen] for column in (self.x, self.y, self.group, self.row))
        return type(self)(x, y, group, row, self.classes)


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """One continuous inertial recording.

    `signal` is float32 (n, 6): acceleration in g, then angular rate in rad/s, at 50 Hz.
    `label` is int64 (n,), -1 where there is none.
    """

    name: str
    person: int
    signal: NDArray[np.float32]
    label: Ints


def joined(first: Samples, then: Samples) -> Samples:
    """Return two sets as one; groups and rows of the second are numbered after the first's.

    The second may be out of distribution: its labels are then not classes of the first.
    """
    return Samples(
        np.concatenate([first.x, then.x]),
        np.concatenate([first.y, then.y]),
        np.concatenate([first.group, then.group + first.group.max() + 1]),
        np.concatenate([first.row, then.row + first.row.max() + 1]),
        first.classes,
    )


def random_split(n: int, sizes: Sequence[int], seed: int = SPLIT_SEED) -> list[Ints]:
    """Return 0..n-1 in a seeded random order, cut into pieces of these sizes; each piece sorted."""
    if sum(sizes) != n:
        raise ValueError(f"sizes must sum to {n}, got {sum(sizes)}")
    order = np.random.default_rng(seed).permutation(n)
    return [np.sort(piece) for piece in np.split(order, np.cumsum(sizes)[:-1])]


def group_split(group: Array, sizes: dict[Part, int], seed: int = SPLIT_SEED) -> dict[Part, Ints]:
    """Return the rows of each part when whole groups are split, `sizes` groups per part."""
    groups = np.unique(group)
    pieces = random_split(len(groups), list(sizes.values()), seed)
    return {
        part: np.flatnonzero(np.isin(group, groups[piece]))
        for part, piece in zip(sizes, pieces, strict=True)
    }


def part_sizes(n: int, fractions: dict[Part, float]) -> dict[Part, int]:
    """Return whole numbers close to these fractions of n that sum to n."""
    edges = np.rint(np.cumsum([0.0, *fractions.values()]) * n).astype(int)
    return dict(zip(fractions, np.diff(edges).tolist(), strict=True))
