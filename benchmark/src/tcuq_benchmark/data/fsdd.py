# SPDX-License-Identifier: Apache-2.0
"""Free Spoken Digit Dataset (Jackson and others): ten digits, six speakers, fifty takes.

For the second confirmation: digits 0 to 7 of the first four speakers are known, split by takes; the
other two speakers are the natural shift, digits 8 and 9 the unknown things.
"""

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import resample_poly

from tcuq_benchmark.data.clips import CLIP, RATE_HZ, read_table
from tcuq_benchmark.data.files import DataDamagedError, checked_files
from tcuq_benchmark.data.samples import Part, Samples

NAME = "fsdd"
CLASSES = tuple("01234567")
DIGITS, FILE_RATE_HZ, MAX_SAMPLES = 10, 8_000, 1 << 23
KNOWN_SPEAKERS = 4  # the first in the order of their names
TAKES: dict[Part, tuple[int, int]] = {"train": (0, 25), "calibration": (25, 37), "test": (37, 50)}


def load() -> dict[Part, Samples]:
    """Return int16 (n, 16000) at 16 kHz and labels 0..7; the group is a speaker's digit."""
    clips, take = _clips()
    known = (_speaker(clips) < KNOWN_SPEAKERS) & (clips.y < len(CLASSES))
    return {
        part: clips.take(known & (begin <= take) & (take < end))
        for part, (begin, end) in TAKES.items()
    }


def shifts() -> dict[str, Samples]:
    """Return all takes of the known digits by each new speaker."""
    clips, _ = _clips()
    speaker = _speaker(clips)
    return {
        f"new speaker {number - KNOWN_SPEAKERS + 1}": clips.take(
            (speaker == number) & (clips.y < len(CLASSES))
        )
        for number in range(KNOWN_SPEAKERS, int(speaker.max()) + 1)
    }


def unknown() -> dict[str, Samples]:
    """Return all takes of each unknown digit by the known speakers, labelled -1."""
    clips, _ = _clips()
    known = _speaker(clips) < KNOWN_SPEAKERS
    return {
        f"digit {digit}": _unlabelled(clips.take(known & (clips.y == digit)))
        for digit in range(len(CLASSES), DIGITS)
    }


def _speaker(clips: Samples) -> NDArray[np.int64]:
    return clips.group // DIGITS


def _unlabelled(clips: Samples) -> Samples:
    return Samples(clips.x, np.full(len(clips), -1), clips.group, clips.row, clips.classes)


@cache
def _clips() -> tuple[Samples, NDArray[np.int64]]:
    """Return every clip by speaker, digit and take; and its take."""
    paths = checked_files(NAME)
    table = read_table(paths["index.csv"])
    names = sorted({row["speaker"] for row in table})
    sounds = {str(digit): _sound(paths[f"{digit}.flac"]) for digit in range(DIGITS)}
    digit, take, start, length = (
        np.array([int(row[column]) for row in table])
        for column in ("digit", "take", "start", "length")
    )
    speaker = np.array([names.index(row["speaker"]) for row in table])
    order = np.lexsort([take, digit, speaker])
    x = np.stack(
        [one_second(sounds[str(digit[i])][start[i] : start[i] + length[i]]) for i in order]
    )
    group = DIGITS * speaker[order] + digit[order]
    return Samples(x, digit[order], group, order, CLASSES), take[order]


def one_second(clip: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return a clip at 16 kHz in the middle of a silent second, or the middle of a longer one."""
    fast = resample_poly(clip.astype(np.float64), RATE_HZ // FILE_RATE_HZ, 1)
    full = np.clip(np.rint(fast), -(1 << 15), (1 << 15) - 1).astype(np.int16)
    begin = max(0, (len(full) - CLIP) // 2)
    middle = full[begin : begin + CLIP]
    out = np.zeros(CLIP, np.int16)
    first = (CLIP - len(middle)) // 2
    out[first : first + len(middle)] = middle
    return out


def _sound(path: Path) -> NDArray[np.int16]:
    import soundfile

    samples: NDArray[np.int16]
    samples, rate = soundfile.read(path, dtype="int16", frames=MAX_SAMPLES)
    if rate != FILE_RATE_HZ or samples.ndim != 1:
        raise DataDamagedError(f"{path} must be mono at {FILE_RATE_HZ} Hz")
    return samples
