# SPDX-License-Identifier: Apache-2.0
"""UCI HAPT v2.1 (Reyes-Ortiz and others 2016): waist-phone recordings of 30 users, 374 minutes."""

import re
from pathlib import Path

import numpy as np

from tcuq_benchmark.data.files import checked_files
from tcuq_benchmark.data.samples import Part, Recording, group_split

NAME = "hapt"
CLASSES = (
    "walking", "walking_upstairs", "walking_downstairs",
    "sitting", "standing", "laying", "transition",
)  # fmt: skip
USERS: dict[Part, int] = {"train": 12, "development": 3, "calibration": 10, "test": 5}


def load() -> dict[Part, tuple[Recording, ...]]:
    """Return whole recordings in experiment order; the six postural transitions are one class."""
    (path,) = checked_files(NAME).values()
    recordings = _recordings(path)
    rows = group_split(np.array([r.person for r in recordings]), USERS)
    return {part: tuple(recordings[i] for i in chosen) for part, chosen in rows.items()}


def _recordings(path: Path) -> list[Recording]:
    recordings = []
    with np.load(path, allow_pickle=False) as data:
        table = data["labels"]
        for name in sorted(key for key in data.files if key.startswith("acc_")):
            experiment, user = (int(number) for number in re.findall(r"\d+", name))
            signal = np.hstack([data[name], data[name.replace("acc_", "gyro_")]])
            label = np.full(len(signal), -1, np.int64)
            for _, _, activity, first, last in table[table[:, 0] == experiment]:
                label[first - 1 : last] = min(activity, len(CLASSES)) - 1
            title = name.removeprefix("acc_")
            recordings.append(Recording(title, user, signal.astype(np.float32), label))
    return recordings
