# SPDX-License-Identifier: Apache-2.0
"""Google Speech Commands v0.01 (Warden 2018), a part: 4,533 one-second clips of 30 words."""

import numpy as np

from tcuq_benchmark.data.clips import in_table_order, read_table
from tcuq_benchmark.data.files import checked_files
from tcuq_benchmark.data.samples import Part, Samples, group_split, part_sizes

NAME = "speech_commands"
# Twelve words have 275 clips or more; of each other word there are ten.
WORDS = (
    "bed", "cat", "down", "eight", "five", "go", "happy", "left", "one", "right", "up", "zero",
)  # fmt: skip
RARE = (
    "bird", "dog", "four", "house", "marvin", "nine", "no", "off", "on", "seven", "sheila", "six",
    "stop", "three", "tree", "two", "wow", "yes",
)  # fmt: skip
# The natural shift from AudioMNIST: the same digits from other speakers and microphones.
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SPEAKERS: dict[Part, float] = {
    "train": 0.5, "calibration": 0.2, "development": 0.1, "test": 0.2,
}  # fmt: skip


def load() -> dict[Part, Samples]:
    """Return int16 (n, 16000) and labels 0..29 in WORDS + RARE; no speaker in two parts.

    The group is the speaker's index among the 586 sorted ids; parts have 50 / 20 / 10 / 20 %.
    """
    everything = _everything()
    shares = part_sizes(len(np.unique(everything.group)), SPEAKERS)
    rows = group_split(everything.group, shares)
    return {part: everything.take(chosen) for part, chosen in rows.items()}


def only(samples: Samples, words: tuple[str, ...]) -> Samples:
    """Return the samples of these words, labelled by their index in `words`."""
    index = np.full(len(samples.classes), -1)
    for label, word in enumerate(words):
        index[samples.classes.index(word)] = label
    chosen = samples.take(index[samples.y] >= 0)
    return Samples(chosen.x, index[chosen.y], chosen.group, chosen.row, words)


def _everything() -> Samples:
    paths = checked_files(NAME)
    table = read_table(paths["index.csv"])
    classes = WORDS + RARE
    y = np.array([classes.index(row["word"]) for row in table])
    _, speaker = np.unique([row["filename"][:8] for row in table], return_inverse=True)
    x = in_table_order(table, "word", paths)
    return Samples(x, y, speaker.astype(np.int64), np.arange(len(y)), classes)
