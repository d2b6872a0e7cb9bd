# SPDX-License-Identifier: Apache-2.0
"""Case Western Reserve bearing data, drive end, 12 kHz: ten conditions of a bearing at four loads.

For the second confirmation: loads 0 and 1 are known, each recording split by time; loads 2 and 3
are the natural shift, faults of 0.028 in and other positions on the outer race the unknown things.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from tcuq_benchmark.data.files import DataDamagedError, checked_files
from tcuq_benchmark.data.samples import Part, Samples

NAME = "bearings"
CLASSES = (
    "Normal", "B007", "B014", "B021", "IR007", "IR014", "IR021", "OR007at6", "OR014at6", "OR021at6",
)  # fmt: skip
KEY = re.compile(r"(?P<condition>Normal|(?:B|IR)\d{3}|OR\d{3}at\d+)_(?P<load>[0-3])")
SCALE = 12 / 32_767  # of the stored integers
KNOWN_LOADS, NEW_LOADS = (0, 1), (2, 3)
WINDOW, TRAIN_HOP = 256, 128  # samples
PARTS: dict[Part, tuple[float, float]] = {
    "train": (0.0, 0.5), "calibration": (0.5, 0.75), "test": (0.75, 1.0),
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Vibration:
    """One recording: its condition, motor load and signal."""

    condition: str
    load: int
    signal: NDArray[np.float32]


def load() -> dict[Part, Samples]:
    """Return float32 (n, 256, 1) and labels 0..9 in recorded order; the group is the recording."""
    return {part: _windows(_is_known, span, train=part == "train") for part, span in PARTS.items()}


def shifts() -> dict[str, Samples]:
    """Return the known conditions at each other load, whole recordings."""
    return {f"load {load}": _windows(partial(_is_at_load, load)) for load in NEW_LOADS}


def unknown() -> dict[str, Samples]:
    """Return the conditions at known loads that no class stands for, labelled -1."""
    return {
        "faults of 0.028 in": _windows(lambda one: _is_unknown(one) and "028" in one.condition),
        "outer race elsewhere": _windows(lambda one: _is_unknown(one) and "at" in one.condition),
    }


def _is_at_load(load: int, one: Vibration) -> bool:
    return one.load == load and one.condition in CLASSES


def _is_known(one: Vibration) -> bool:
    return one.load in KNOWN_LOADS and one.condition in CLASSES


def _is_unknown(one: Vibration) -> bool:
    return one.load in KNOWN_LOADS and one.condition not in CLASSES


def _windows(
    chosen: Callable[[Vibration], bool],
    span: tuple[float, float] = (0.0, 1.0),
    *,
    train: bool = False,
) -> Samples:
    """Cut a span of the chosen recordings into windows; only those of training overlap."""
    xs, ys, groups, rows = [], [], [], []
    for number, one in enumerate(_recordings()):
        if not chosen(one):
            continue
        begin, end = (round(share * len(one.signal)) for share in span)
        first = np.arange(begin, end - WINDOW + 1, TRAIN_HOP if train else WINDOW)
        label = CLASSES.index(one.condition) if one.condition in CLASSES else -1
        xs.append(one.signal[first[:, None] + np.arange(WINDOW)][:, :, None])
        ys.append(np.full(len(first), label))
        groups.append(np.full(len(first), number))
        rows.append((number << 32) + first)
    x, y, group, row = (np.concatenate(column) for column in (xs, ys, groups, rows))
    return Samples(x, y, group, row, CLASSES)


@cache
def _recordings() -> tuple[Vibration, ...]:
    """Return all recordings in the order of their names."""
    (path,) = checked_files(NAME).values()
    recordings = []
    with np.load(path, allow_pickle=False) as data:
        for name in sorted(data.files):
            match = KEY.fullmatch(name)
            if match is None or data[name].ndim != 1 or data[name].dtype != np.int16:
                raise DataDamagedError(f"{path}: {name} must be int16 and named like B007_0")
            signal = data[name].astype(np.float32) * np.float32(SCALE)
            recordings.append(Vibration(match["condition"], int(match["load"]), signal))
    return tuple(recordings)
