# SPDX-License-Identifier: Apache-2.0
"""From raw samples to a network's inputs, and light augmentation of training samples.

All functions take raw samples as the loaders return them; augmentation returns raw samples.
"""

from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tcuq_benchmark.data.clips import RATE_HZ
from tcuq_benchmark.data.samples import Array

Rng = np.random.Generator
FRAME, HOP, BINS = 480, 320, 512  # samples: 30 ms every 20 ms
MEL_BINS, MEL_RANGE_HZ, COEFFICIENTS = 40, (20.0, 4000.0), 10
BANDS = 32  # of the smaller front end
PAD = 4  # pixels
SHIFT = RATE_HZ // 10  # largest shift of a clip: 100 ms
NOISE = (1e-4, 1e-2)  # its peak as a share of the clip's, log-uniform
TURN_DEGREES, GAIN = 8.0, 0.03  # standard deviations of a sensor's rotation and gain


def images(x: Array) -> Tensor:
    """Return grey (n, h, w) or colour (n, h, w, 3) pixels as (n, channels, h, w) from 0 to 255."""
    pixels = torch.from_numpy(np.ascontiguousarray(x)).to(torch.float32)
    if pixels.dim() == 3:
        return pixels.unsqueeze(1)
    return pixels.permute(0, 3, 1, 2)  # channels last in memory


def windows(x: Array) -> Tensor:
    """Return signals (n, time, channels) as (n, channels, time)."""
    return torch.from_numpy(np.ascontiguousarray(x.transpose(0, 2, 1), np.float32))


def rows(x: Array) -> Tensor:
    """Return each sample's numbers in one row."""
    return torch.from_numpy(np.ascontiguousarray(x.reshape(len(x), -1), np.float32))


def clips(x: Array) -> Tensor:
    """Return one-second clips as cepstral coefficients (n, 1, 49, 10)."""
    return torch.from_numpy(cepstra(x)).unsqueeze(1)


def cepstra(x: Array) -> NDArray[np.float32]:
    """Return the MFCC of MLPerf Tiny's keyword spotting, of peak-scaled clips."""
    coefficients: NDArray[np.float32] = _log_mel(x, MEL_BINS) @ _cosines()
    return coefficients


def log_bands(x: Array) -> Tensor:
    """Return one-second clips as log mel bands (n, 1, 49, 32), of peak-scaled clips."""
    return torch.from_numpy(_log_mel(x, BANDS)).unsqueeze(1)


def _log_mel(x: Array, bands: int) -> NDArray[np.float32]:
    peak = np.abs(x.astype(np.float32)).max(axis=1, keepdims=True)
    scaled = x / np.maximum(peak, 1)
    hann = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)).astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(scaled, FRAME, axis=1)[:, ::HOP] * hann
    spectrum = np.abs(np.fft.rfft(frames, BINS)).astype(np.float32)
    logs: NDArray[np.float32] = np.log(spectrum @ _triangles(bands) + np.float32(1e-6))
    return logs


@cache
def _triangles(bands: int) -> NDArray[np.float32]:
    """Return HTK mel triangles (bins, bands)."""
    hertz = np.arange(BINS // 2 + 1) * RATE_HZ / BINS
    mels = 1127 * np.log1p(hertz / 700)
    low, high = (1127 * np.log1p(edge / 700) for edge in MEL_RANGE_HZ)
    edges = np.linspace(low, high, bands + 2)
    rising = (mels[:, None] - edges[:-2]) / np.diff(edges)[:-1]
    falling = (edges[2:] - mels[:, None]) / np.diff(edges)[1:]
    triangles: NDArray[np.float64] = np.maximum(0, np.minimum(rising, falling))
    triangles[0] = 0
    return triangles.astype(np.float32)


@cache
def _cosines() -> NDArray[np.float32]:
    """Return DCT-II / sqrt(80), (40, 10)."""
    k, n = np.arange(COEFFICIENTS), np.arange(MEL_BINS)[:, None]
    angles: NDArray[np.float64] = np.pi * k * (2 * n + 1) / (2 * MEL_BINS)
    cosines: NDArray[np.float64] = 2 * np.cos(angles) / np.sqrt(2 * MEL_BINS)
    return cosines.astype(np.float32)


def no_augmentation(x: Array, _rng: Rng) -> Array:
    """Return the samples unchanged."""
    return x


def crop_and_flip(x: Array, rng: Rng) -> Array:
    """Shift each image by up to four pixels with black borders; mirror half of them."""
    n, side = x.shape[:2]
    padded = np.pad(x, ((0, 0), (PAD, PAD), (PAD, PAD), (0, 0)))
    down, right = rng.integers(0, 2 * PAD + 1, (2, n, 1))
    along = np.arange(side)
    columns = right + np.where(rng.random((n, 1)) < 0.5, along[::-1], along)
    lines = down + along
    crops: Array = padded[np.arange(n)[:, None, None], lines[:, :, None], columns[:, None, :]]
    return crops


def augment_clips(x: Array, rng: Rng) -> Array:
    """Shift each clip by up to 100 ms and add a little white noise.

    A gain would have no effect: the front end divides by the peak.
    """
    n, length = x.shape
    padded = np.pad(x.astype(np.float32), ((0, 0), (SHIFT, SHIFT)))
    begins = rng.integers(0, 2 * SHIFT + 1, (n,))
    shifted = np.stack([padded[i, at : at + length] for i, at in enumerate(begins)])
    low, high = NOISE
    level = low * (high / low) ** rng.random((n, 1)) * np.abs(shifted).max(axis=1, keepdims=True)
    white = rng.random(shifted.shape, np.float32) * 2 - 1
    noisy: Array = shifted + level.astype(np.float32) * white
    return noisy


def augment_motion(x: Array, rng: Rng) -> Array:
    """Rotate and amplify each window a little, as another mounting of the sensor would."""
    n = len(x)
    vector = rng.standard_normal((n, 3)) * (np.radians(TURN_DEGREES) / 3**0.5)
    angle = np.linalg.norm(vector, axis=1)[:, None, None]
    a, b, c = (vector / angle[:, 0]).T
    zero = np.zeros(n)
    skew = np.stack([zero, -c, b, c, zero, -a, -b, a, zero], axis=1).reshape(n, 3, 3)
    turn = np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * (skew @ skew)
    turned = x.reshape(n, -1, 2, 3) @ turn.transpose(0, 2, 1)[:, None]
    gain = 1 + GAIN * rng.standard_normal((n, 1, 1))
    scaled: Array = (turned.reshape(x.shape) * gain).astype(np.float32)
    return scaled
