# SPDX-License-Identifier: Apache-2.0
"""People who speak digits to a device that they share, from AudioMNIST's clips.

In a session everybody says each of their clips once, in random order and in turns of twenty clips.
In each session a clip lies elsewhere in its second and is a little louder or quieter.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import clips
from tools.demo_streams.faults import FULL_SCALE, Rng, Sounds

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/keyword-spotting"
DEVELOPMENT_SPEAKERS = 4  # of those that the example calibrates on
TURN = 20  # clips that a speaker says before the next speaker
DEVICE_GAIN = 8.0  # AudioMNIST's clips peak at about 2 % of full scale
SPEAKER_GAIN_DB, CLIP_GAIN_DB = 3.0, 1.0  # largest change, either way
FLOOR_DB = (-70.0, -60.0)  # the microphone's own noise, under full scale, by speaker


@dataclass(frozen=True)
class Speech:
    """Clips in spoken order, in 16-bit units, not yet rounded; `starts` begin the recordings."""

    sounds: Sounds
    digits: NDArray[np.int64]
    starts: NDArray[np.int64]
    shifted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.digits)

    def with_sounds(self, span: slice, sounds: Sounds) -> "Speech":
        """Replace the clips of a span by faulted ones."""
        changed, shifted = self.sounds.copy(), self.shifted.copy()
        changed[span], shifted[span] = sounds, True
        return replace(self, sounds=changed, shifted=shifted)


def speakers(seed: int) -> dict[str, clips.Clips]:
    """Return the clips of calibration, development and test speakers, none used in training."""
    parts = clips.audiomnist(Path(os.environ.get("TCUQ_DATA", ".")))
    known = parts["calibration"]
    order = np.random.default_rng(seed).permutation(np.unique(known.speakers))
    development = np.isin(known.speakers, order[:DEVELOPMENT_SPEAKERS])
    return {
        "calibration": known.take(~development),
        "development": known.take(development),
        "test": parts["test"],
    }


def session(part: clips.Clips, rng: Rng) -> Speech:
    """Let the speakers of a part say all their clips, in turns."""
    turns: list[list[NDArray[np.int64]]] = []
    sounds = np.empty(part.sounds.shape)
    for speaker in np.unique(part.speakers):
        own = rng.permutation(np.flatnonzero(part.speakers == speaker))
        sounds[own] = recorded(part.sounds[own], rng)
        turns.append(np.split(own, len(own) // TURN))
    rounds = [[speaker[number] for speaker in turns] for number in range(len(turns[0]))]
    order = np.concatenate([turn[at] for turn in rounds for at in rng.permutation(len(turn))])
    clean = np.zeros(len(order), np.bool_)
    return Speech(sounds[order], part.digits[order], np.zeros(1, np.int64), clean)


def joined(sessions: Sequence[Speech]) -> Speech:
    """Return sessions one after another; each begins a recording."""
    begins = np.cumsum([0, *(len(part) for part in sessions[:-1])])
    return Speech(
        np.concatenate([part.sounds for part in sessions]),
        np.concatenate([part.digits for part in sessions]),
        np.concatenate([b + part.starts for b, part in zip(begins, sessions, strict=True)]),
        np.concatenate([part.shifted for part in sessions]),
    )


def recorded(sounds: clips.Sounds, rng: Rng) -> Sounds:
    """Return a speaker's clips as the microphone gives them: moved, amplified, in faint noise."""
    ends = clips.CLIP - np.argmax(sounds[:, ::-1] != 0, axis=1)
    begins = rng.integers(0, clips.CLIP - ends + 1)
    moved = np.stack([np.roll(row, at) for row, at in zip(sounds, begins, strict=True)])
    distance = rng.uniform(-SPEAKER_GAIN_DB, SPEAKER_GAIN_DB)
    decibels = distance + rng.uniform(-CLIP_GAIN_DB, CLIP_GAIN_DB, (len(sounds), 1))
    floor = FULL_SCALE * 10 ** (rng.uniform(*FLOOR_DB) / 20)
    gain = FULL_SCALE * DEVICE_GAIN * 10 ** (decibels / 20)
    return moved * gain + floor * rng.standard_normal(moved.shape)
