# SPDX-License-Identifier: Apache-2.0
"""AudioMNIST (Becker and others 2018), a part: 60 speakers say ten digits, eight times each."""

import numpy as np

from tcuq_benchmark.data.clips import in_table_order, read_table
from tcuq_benchmark.data.files import checked_files
from tcuq_benchmark.data.samples import Part, Samples, group_split

NAME = "audiomnist"
CLASSES = tuple("0123456789")
SPEAKERS: dict[Part, int] = {"train": 30, "calibration": 12, "development": 6, "test": 12}


def load() -> dict[Part, Samples]:
    """Return int16 (n, 16000) at 16 kHz and labels 0..9; no speaker is in two parts."""
    paths = checked_files(NAME)
    table = read_table(paths["index.csv"])
    x = in_table_order(table, "digit", paths)
    y = np.array([int(row["digit"]) for row in table])
    speaker = np.array([int(row["speaker"]) for row in table])
    everything = Samples(x, y, speaker, np.arange(len(y)), CLASSES)
    return {part: everything.take(rows) for part, rows in group_split(speaker, SPEAKERS).items()}
