# SPDX-License-Identifier: Apache-2.0
"""One-second clips: FLAC files with many clips end to end, and their table."""

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tcuq_benchmark.data.files import DataDamagedError

RATE_HZ = 16_000
CLIP = 16_000  # samples
MAX_CLIPS = 2_000


def read_table(path: Path) -> list[dict[str, str]]:
    """Return the rows of index.csv."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_clips(path: Path) -> NDArray[np.int16]:
    """Return clips as int16 (clips, 16000)."""
    import soundfile

    samples, rate = soundfile.read(path, dtype="int16", frames=MAX_CLIPS * CLIP)
    if rate != RATE_HZ or samples.ndim != 1 or len(samples) % CLIP:
        raise DataDamagedError(f"{path} must hold whole one-second clips at {RATE_HZ} Hz, mono")
    clips: NDArray[np.int16] = samples.reshape(-1, CLIP)
    return clips


def in_table_order(
    table: list[dict[str, str]], key: str, paths: Mapping[str, Path]
) -> NDArray[np.int16]:
    """Return the clips of the table's rows, in its order; column `key` names the file."""
    sounds = {name: read_clips(paths[f"{name}.flac"]) for name in {row[key] for row in table}}
    return np.stack([sounds[row[key]][int(row["row"])] for row in table])
