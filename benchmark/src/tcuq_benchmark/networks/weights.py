# SPDX-License-Identifier: Apache-2.0
"""Weights as plain arrays in a file, and JSON with their metadata: hash, accuracy, versions."""

import hashlib
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tcuq_benchmark.cache import write_entry
from tcuq_benchmark.data.samples import Array

Weights = dict[str, Array]
Metadata = dict[str, Any]


def sha256(weights: Weights) -> str:
    """Return the identity of weights: names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        array = np.ascontiguousarray(weights[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def of(network: torch.nn.Module) -> Weights:
    """Return the weights and buffers of a network, and of its assistance exits as `exits.`."""
    state: dict[str, Tensor] = network.state_dict()
    return {name.removeprefix("network."): value.numpy().copy() for name, value in state.items()}


def without_exits(weights: Weights) -> Weights:
    """Return the weights that inference needs of an assisted network."""
    return {name: array for name, array in weights.items() if not name.startswith("exits.")}


def put(network: torch.nn.Module, weights: Weights) -> None:
    """Load weights into a network; names and shapes must match."""
    network.load_state_dict({name: torch.from_numpy(a) for name, a in weights.items()})


def put_matching(network: torch.nn.Module, weights: Weights) -> None:
    """Load the weights whose names and shapes match the network's."""
    own: dict[str, Tensor] = network.state_dict()
    fitting = {
        name: torch.from_numpy(array)
        for name, array in weights.items()
        if name in own and own[name].shape == array.shape
    }
    network.load_state_dict(fitting, strict=False)


def write(path: Path, weights: Weights, metadata: Metadata) -> None:
    """Write the arrays, then the JSON: if the JSON exists, so do the arrays."""
    with write_entry(path) as file:
        np.savez(file, allow_pickle=False, **weights)
    text = json.dumps(metadata | {"sha256": sha256(weights)}, indent=1, sort_keys=True)
    with write_entry(path.with_suffix(".json")) as file:
        file.write(f"{text}\n".encode())


def read(path: Path) -> tuple[Weights, Metadata]:
    """Return weights and metadata; FileNotFoundError if missing, ValueError if damaged."""
    metadata: Metadata = json.loads(path.with_suffix(".json").read_bytes())
    return read_arrays(path, metadata["sha256"]), metadata


def read_arrays(path: Path, expected: str) -> Weights:
    """Return the arrays in a file; ValueError if it is damaged or its hash is not the expected."""
    try:
        with np.load(path, allow_pickle=False) as file:
            weights = {name: file[name] for name in file.files}
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged: delete it and train again ({error})") from error
    digest = sha256(weights)
    if digest != expected:
        raise ValueError(
            f"{path} is damaged: its weights must have SHA-256 {expected}, got {digest}; "
            "delete it and train again"
        )
    return weights
