# SPDX-License-Identifier: Apache-2.0
"""UCI Gas Sensor Array Drift (Vergara and others 2012), batches 1-6, 8 and 9: natural drift."""

import numpy as np

from tcuq_benchmark.data.files import checked_files
from tcuq_benchmark.data.samples import PARTS, Ints, Part, Samples, part_sizes, random_split

NAME = "gas_drift"
CLASSES = ("ethanol", "ethylene", "ammonia", "acetaldehyde", "acetone", "toluene")
BATCHES = (1, 2, 3, 4, 5, 6, 8, 9)
# Months 1-10 are in distribution; blocks of neighbouring rows are split over all four parts.
FIRST_BATCHES, BLOCK = (1, 2), 8
BLOCKS: dict[Part, float] = {
    "train": 0.5, "calibration": 0.25, "development": 0.1, "test": 0.15,
}  # fmt: skip
LATER: dict[int, Part] = {
    3: "development", 4: "test", 5: "test", 6: "test", 8: "test", 9: "test",
}  # fmt: skip


def load() -> dict[Part, Samples]:
    """Return float32 (n, 128) and labels 0..5 in recorded order; the group is the batch.

    Samples of batches 3 and later, in development and test, have drifted.
    """
    (path,) = checked_files(NAME).values()
    with np.load(path, allow_pickle=False) as data:
        if tuple(str(name).lower() for name in data["gas_names"]) != CLASSES:
            raise ValueError(f"gas_names must be {CLASSES}, got {data['gas_names']}")
        x = np.concatenate([data[f"batch{b}_x"] for b in BATCHES]).astype(np.float32)
        y = np.concatenate([data[f"batch{b}_y"] for b in BATCHES]).astype(np.int64) - 1
        batch = np.repeat(BATCHES, [len(data[f"batch{b}_y"]) for b in BATCHES])
    everything = Samples(x, y, batch, np.arange(len(y)), CLASSES)
    owner = part_of_each(batch)
    return {part: everything.take(owner == PARTS.index(part)) for part in PARTS}


def part_of_each(batch: Ints) -> Ints:
    """Return the part of each row, as its index in PARTS."""
    early = np.flatnonzero(np.isin(batch, FIRST_BATCHES))
    blocks = -(-len(early) // BLOCK)
    owner_of_block = np.empty(blocks, np.int64)
    for part, piece in zip(
        BLOCKS, random_split(blocks, [*part_sizes(blocks, BLOCKS).values()]), strict=True
    ):
        owner_of_block[piece] = PARTS.index(part)
    owner = np.empty(len(batch), np.int64)
    owner[early] = owner_of_block[np.arange(len(early)) // BLOCK]
    for number, part in LATER.items():
        owner[batch == number] = PARTS.index(part)
    return owner
