# SPDX-License-Identifier: Apache-2.0
"""People who say digits to a device that they share, from AudioMNIST's clips.

People take turns of ten words, as long as a phone number, one word every two seconds. A device
that spots keywords slides its window over the audio, so that it hears each word more than once.
Here a word is in two windows of one second, the second 0.2 s later: two steps that share 0.8 s.
In each session a word lies elsewhere in its windows and is a little louder or quieter.
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
TURN = 10  # words that a speaker says before the next speaker
WINDOWS = 2  # of each word; each is one step
HOP = 3_200  # samples between the windows: ten frames of the front end
HEARD = clips.CLIP + (WINDOWS - 1) * HOP  # samples that the windows of a word cover
DEVICE_GAIN = 8.0  # AudioMNIST's clips peak at about 2 % of full scale
SPEAKER_GAIN_DB, WORD_GAIN_DB = 3.0, 1.0  # largest change, either way
FLOOR_DB = (-70.0, -60.0)  # the microphone's own noise, under full scale, by speaker


@dataclass(frozen=True)
class Speech:
    """Words in spoken order, (words, HEARD) in 16-bit units, not yet rounded.

    Sessions begin at the words `starts`.
    """

    sounds: Sounds
    digits: NDArray[np.int64]
    starts: NDArray[np.int64]
    shifted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.digits)

    def with_sounds(self, span: slice, sounds: Sounds) -> "Speech":
        """Replace the words of a span by faulted ones."""
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


def two_sessions(part: clips.Clips, rng: Rng) -> list[Speech]:
    """Let the speakers of a part say all their clips once, half of them in each session."""
    orders = [
        rng.permutation(np.flatnonzero(part.speakers == speaker))
        for speaker in np.unique(part.speakers)
    ]
    return [session(part, [order[half::2] for order in orders], rng) for half in range(2)]


def session(part: clips.Clips, orders: Sequence[NDArray[np.int64]], rng: Rng) -> Speech:
    """Let each speaker say their clips in this order, in turns."""
    sounds = np.empty((len(part.digits), HEARD))
    for own in orders:
        sounds[own] = recorded(part.sounds[own], rng)
    turns = [np.split(own, len(own) // TURN) for own in orders]
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
    """Return a speaker's words as the microphone gives them: placed, amplified, in faint noise.

    Every window holds the whole word, unless it is longer than what the windows share: then the
    first loses its end, the last its beginning, or both a part.
    """
    lengths = clips.CLIP - np.argmax(sounds[:, ::-1] != 0, axis=1)
    edges = np.sort([np.full(len(sounds), HEARD - clips.CLIP), clips.CLIP - lengths], axis=0)
    begins = rng.integers(edges[0], edges[1], endpoint=True)
    padded = np.pad(sounds, ((0, 0), (0, HEARD - clips.CLIP)))
    placed = np.stack([np.roll(row, at) for row, at in zip(padded, begins, strict=True)])
    distance = rng.uniform(-SPEAKER_GAIN_DB, SPEAKER_GAIN_DB)
    decibels = distance + rng.uniform(-WORD_GAIN_DB, WORD_GAIN_DB, (len(sounds), 1))
    floor = FULL_SCALE * 10 ** (rng.uniform(*FLOOR_DB) / 20)
    gain = FULL_SCALE * DEVICE_GAIN * 10 ** (decibels / 20)
    return placed * gain + floor * rng.standard_normal(placed.shape)


def windows(sounds: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return the windows of every word in the order that the device hears them."""
    views = np.lib.stride_tricks.sliding_window_view(sounds, clips.CLIP, axis=1)[:, ::HOP]
    return views.reshape(-1, clips.CLIP)
