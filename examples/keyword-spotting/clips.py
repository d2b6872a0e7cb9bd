# SPDX-License-Identifier: Apache-2.0
"""Recordings, and the network's inputs from them: 49 frames of 10 cepstral coefficients, int8.

The front end is MLPerf Tiny's: frames of 30 ms every 20 ms, 40 mel bins, log, DCT. A clip lasts one
second. The published clips end in digital silence; a microphone never gives that, so every clip
is placed at random in a second of faint noise.
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import soundfile
from numpy.typing import NDArray

Rng = np.random.Generator
Sounds = NDArray[np.float32]

RATE_HZ = CLIP = 16_000
FRAME, HOP, BINS = 480, 320, 512  # samples
MEL_BINS, MEL_RANGE_HZ = 40, (20.0, 4000.0)
# Mean and spread of each coefficient over the training speakers; one code is 1/16 of the spread.
MEAN = np.array([-15.0, 0.5, 1.5, 0.3, -0.2, -0.3, 0.0, -0.1, 0.0, 0.0], np.float32)
SPREAD = np.array([17.0, 4.0, 2.2, 1.5, 1.4, 1.1, 1.0, 0.8, 0.8, 0.8], np.float32)
CODES = 16
FLOOR_DB = (-70.0, -50.0)  # a microphone's own noise, under the clip's peak

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SPEAKERS = {"train": 24, "calibration": 24, "test": 12}
SPLIT_SEED = 0


@dataclass(frozen=True)
class Clips:
    """One-second clips within ±1, their digits and speakers."""

    sounds: Sounds
    digits: NDArray[np.int64]
    speakers: NDArray[np.str_]

    def take(self, chosen: NDArray[np.generic]) -> Self:
        """Select clips by index or by mask."""
        return type(self)(self.sounds[chosen], self.digits[chosen], self.speakers[chosen])


def _read(folder: Path, column: str, names: tuple[str, ...], speaker: slice) -> Clips:
    """Read the clips of these words; `speaker` is the speaker's part of a file's name."""
    with (folder / "index.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row[column] in names]
    words = {n: soundfile.read(folder / f"{n}.flac", dtype="float32")[0] for n in names}
    sounds = np.stack([words[r[column]].reshape(-1, CLIP)[int(r["row"])] for r in rows])
    digits = np.array([names.index(row[column]) for row in rows])
    return Clips(sounds, digits, np.array([row["filename"][speaker] for row in rows]))


def audiomnist(data: Path) -> dict[str, Clips]:
    """Read AudioMNIST by part; no speaker is in two parts."""
    clips = _read(data / "audiomnist", "digit", tuple("0123456789"), slice(2, 4))
    known = np.random.default_rng(SPLIT_SEED).permutation(np.unique(clips.speakers))
    ends = np.cumsum(list(SPEAKERS.values()))
    parts = zip(SPEAKERS, np.split(known, ends[:-1]), strict=True)
    return {part: clips.take(np.isin(clips.speakers, who)) for part, who in parts}


def speech_commands(data: Path) -> Clips:
    """Read the digits of Speech Commands: other speakers, other microphones, other rooms."""
    return _read(data / "speech-commands", "word", DIGITS, slice(8))


def by_speaker(clips: Clips, rng: Rng) -> NDArray[np.int64]:
    """Return a random order of all clips, grouped by speaker."""
    turn = rng.permutation(len(clips.speakers))  # order within a speaker
    _, speaker = np.unique(clips.speakers, return_inverse=True)
    return np.lexsort([turn, rng.permutation(speaker.max() + 1)[speaker]])


def place_in_noise(sounds: Sounds, rng: Rng, floor_db: tuple[float, float] = FLOOR_DB) -> Sounds:
    """Place each word at random in its second, scale its peak to 1 and add microphone noise."""
    ends = CLIP - np.argmax(sounds[:, ::-1] != 0, axis=1)
    begins = rng.integers(0, CLIP - ends + 1)
    moved = np.stack([np.roll(row, at) for row, at in zip(sounds, begins, strict=True)])
    moved /= np.abs(moved).max(axis=1, keepdims=True)
    floor = 10 ** (rng.uniform(*floor_db, (len(sounds), 1)) / 20)
    faint = rng.standard_normal(moved.shape, np.float32)
    placed: Sounds = (moved + floor.astype(np.float32) * faint).astype(np.float32)
    return placed


def noisy(sounds: Sounds, snr_db: float, rng: Rng) -> Sounds:
    """Add pink noise, this many dB below the clip."""
    spectrum = np.fft.rfft(rng.standard_normal(sounds.shape))
    spectrum[:, 1:] /= np.sqrt(np.arange(1, spectrum.shape[1]))
    pink = np.fft.irfft(spectrum, CLIP)
    power = [np.sqrt(np.mean(x**2, axis=1, keepdims=True)) for x in (sounds, pink)]
    louder: Sounds = (sounds + pink * power[0] / power[1] * 10 ** (-snr_db / 20)).astype(np.float32)
    return louder


def cepstra(sounds: Sounds) -> NDArray[np.float32]:
    """Return ten coefficients of 49 frames of the peak-scaled clip."""
    scaled = sounds / np.maximum(np.abs(sounds).max(axis=1, keepdims=True), 1e-6)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)
    frames = np.lib.stride_tricks.sliding_window_view(scaled, FRAME, axis=1)[:, ::HOP]
    spectrum = np.abs(np.fft.rfft(frames * hann.astype(np.float32), BINS))
    k, n = np.arange(len(MEAN)), np.arange(MEL_BINS)[:, None]
    cosines = 2 * np.cos(np.pi * k * (2 * n + 1) / (2 * MEL_BINS)) / np.sqrt(2 * MEL_BINS)
    coefficients = np.log(spectrum @ mel_triangles() + 1e-6) @ cosines
    return np.asarray(coefficients, np.float32)


def mel_triangles() -> NDArray[np.float64]:
    """Return HTK's mel filters, (257, 40)."""
    mels = 1127 * np.log1p(np.arange(BINS // 2 + 1) * RATE_HZ / BINS / 700)
    low, high = (1127 * np.log1p(edge / 700) for edge in MEL_RANGE_HZ)
    edges = np.linspace(low, high, MEL_BINS + 2)
    rising = (mels[:, None] - edges[:-2]) / np.diff(edges)[:-1]
    falling = (edges[2:] - mels[:, None]) / np.diff(edges)[1:]
    triangles: NDArray[np.float64] = np.maximum(0, np.minimum(rising, falling))
    triangles[0] = 0
    return triangles


def inputs(sounds: Sounds) -> NDArray[np.int8]:
    """Return the network's inputs, (clips, 49, 10)."""
    coefficients = np.concatenate(
        [cepstra(sounds[at : at + 64]) for at in range(0, len(sounds), 64)]
    )
    codes = np.rint((coefficients - MEAN) / SPREAD * CODES)
    return np.asarray(np.clip(codes, -127, 127), np.int8)
