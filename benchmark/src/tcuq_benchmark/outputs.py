# SPDX-License-Identifier: Apache-2.0
"""A cache of network outputs, keyed by data, model and stream; an interrupted run resumes.

A finished entry is `<cache>/outputs/<key>.npz`. Until then its parts are in `<key>/`, each written
atomically, so an interrupted run repeats at most one part.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tcuq_benchmark.cache import cache_root, write_entry
from tcuq_benchmark.data.samples import Array

PART_STEPS = 4096
Run = Callable[[int, int], dict[str, Array]]


def key(data_sha256: str, model_sha256: str, settings: dict[str, Any]) -> str:
    """Return the entry's name: a hash of data, model and the stream's settings."""
    identity = {"data": data_sha256, "model": model_sha256, "stream": settings}
    text = json.dumps(identity, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def cached(
    name: str,
    steps: int,
    run: Run,
    *,
    part_steps: int = PART_STEPS,
    root: Path | None = None,
    report: Callable[[int], None] = lambda _done: None,
) -> dict[str, Array]:
    """Return an entry's arrays; `run(begin, end)` computes the parts that are missing.

    `report` is called after each part with the number of steps done.
    """
    folder = (root or cache_root() / "outputs") / name
    whole = folder.with_suffix(".npz")
    entry = _read(whole, steps)
    if entry is not None:
        return entry
    parts = []
    for begin in range(0, steps, part_steps):
        end = min(begin + part_steps, steps)
        path = folder / f"{begin:09d}-{end:09d}.npz"
        part = _read(path, end - begin)
        if part is None:
            part = run(begin, end)
            _write(path, part, end - begin)
        parts.append(part)
        report(end)
    entry = join_rows(parts)
    _write(whole, entry, steps)
    shutil.rmtree(folder)
    return entry


def join_rows(parts: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """Concatenate outputs of consecutive steps."""
    return {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}


def _read(path: Path, steps: int) -> dict[str, Array] | None:
    """Return the arrays in a file, or None if it is missing or has another number of steps."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except FileNotFoundError:
        return None
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path} is damaged: delete it and run again ({error})") from error
    return arrays if all(len(column) == steps for column in arrays.values()) else None


def _write(path: Path, arrays: dict[str, Array], steps: int) -> None:
    lengths = {name: len(column) for name, column in arrays.items()}
    if set(lengths.values()) != {steps}:
        raise ValueError(f"every output must have {steps} rows, got {lengths}")
    with write_entry(path) as file:
        np.savez(file, allow_pickle=False, **arrays)
