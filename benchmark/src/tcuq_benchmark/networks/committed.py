# SPDX-License-Identifier: Apache-2.0
"""The weights that are part of the repository: compressed arrays and one index, weights.json."""

import json
from pathlib import Path

import numpy as np

from tcuq_benchmark.cache import write_entry
from tcuq_benchmark.networks.weights import Metadata, Weights, read_arrays

FOLDER = Path(__file__).resolve().parents[3] / "weights"  # in no distribution
MOST_BYTES = 20_000_000
RECORDED = (
    "key",
    "sha256",
    "epochs",
    "start",
    "calibration_accuracy",
    "test_accuracy",
    "wall_s",
    "cpu_s",
    "versions",
    "finished",
)
Index = dict[str, Metadata]


def name_of(task: str, variant: str, seed: int) -> str:
    """Return the name of a network in the index, which is also that of its file."""
    return f"{task}-{variant}-{seed}"


def read_index() -> Index:
    """Return the metadata of every network in the folder, by name."""
    path = FOLDER / "weights.json"
    index: Index = json.loads(path.read_bytes()) if path.is_file() else {}
    return index


def holds(name: str, key: str) -> bool:
    """Return whether the folder has this network, trained by the recipe with this key."""
    return read_index().get(name, {}).get("key") == key


def read(name: str) -> tuple[Weights, Metadata]:
    """Return weights, whose hash must be that of the index, and metadata."""
    metadata = read_index()[name]
    return read_arrays(FOLDER / f"{name}.npz", metadata["sha256"]), metadata


def add(name: str, weights: Weights, metadata: Metadata, command: str) -> None:
    """Write a network's weights, then the index."""
    with write_entry(FOLDER / f"{name}.npz") as file:
        np.savez_compressed(file, allow_pickle=False, **weights)
    entry = {"command": command} | {field: metadata[field] for field in RECORDED}
    text = json.dumps(read_index() | {name: entry}, indent=1, sort_keys=True)
    with write_entry(FOLDER / "weights.json") as file:
        file.write(f"{text}\n".encode())
