# SPDX-License-Identifier: Apache-2.0
"""Thirteen corruptions of one-second clips at 16 kHz: twelve by audiomentations, reverb our own.

Clips are int16 or float32 within ±1, shape (n, samples). Parameters are fixed by severity; noise,
directions and positions come from the rng.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.random import Generator

from tcuq_benchmark.corruptions.suite import Array, Corruption, Floats, Suite
from tcuq_benchmark.data.clips import RATE_HZ

FULL_SCALE = 32_768
SNR_DB = (20.0, 15.0, 10.0, 5.0, 0.0)
PINK_DB_PER_OCTAVE = -3.01
CLIPPED = (10, 20, 35, 50, 70)  # percent of the samples
DISTORTION = (0.1, 0.3, 0.5, 0.7, 0.9)
BITS = (7, 6, 5, 4, 3)
LOW_PASS_HZ = (3000.0, 2000.0, 1500.0, 1000.0, 600.0)
HIGH_PASS_HZ = (300.0, 600.0, 1000.0, 1500.0, 2200.0)
STEEP = {
    "min_rolloff": (24,) * 5, "max_rolloff": (24,) * 5, "zero_phase": (True,) * 5,
}  # fmt: skip
ALIASED_HZ = (8000, 6000, 4500, 3500, 2500)
SEMITONES = (1.0, 2.0, 3.0, 5.0, 7.0)
RATE = (1.1, 1.2, 1.35, 1.5, 1.75)
MASKED = (0.1, 0.2, 0.3, 0.4, 0.5)
QUIETER_DB = (6.0, 12.0, 20.0, 30.0, 40.0)
REVERB_S = (0.15, 0.3, 0.5, 0.8, 1.2)  # time in which the sound falls by 60 dB
WET = (0.3, 0.45, 0.6, 0.75, 0.9)  # share of the reverberated sound

# A shifted wave differs from itself as much as from any other: these are compared by loudness.
GROWS_IN_LOUDNESS = frozenset({"pitch_shift", "time_stretch"})


@contextmanager
def _global_states(rng: Generator) -> Iterator[None]:
    """Seed the two global random states from the rng, and restore them afterwards."""
    random_state, numpy_state = random.getstate(), np.random.get_state()
    seed = int(rng.integers(2**32))
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(random_state)
        np.random.set_state(numpy_state)


def on_clips(change: Callable[[Floats, int, Generator], Array]) -> Corruption:
    """Make a corruption of a batch from a change of one float32 clip."""

    def corruption(batch: Array, severity: int, rng: Generator) -> Array:
        if batch.ndim != 2 or batch.dtype not in (np.int16, np.float32):
            raise ValueError(f"clips must be int16 or float32, got {batch.dtype} {batch.shape}")
        scale = FULL_SCALE if batch.dtype == np.int16 else 1
        out = np.empty_like(batch)
        for i, clip in enumerate(batch):
            changed = change(clip.astype(np.float32) / scale, severity, rng)[: len(clip)]
            changed = np.clip(changed, -1, 1 - 1 / FULL_SCALE) * scale
            out[i] = np.rint(changed) if scale > 1 else changed
        return out

    return corruption


def by_library(name: str, **options: tuple[Any, ...]) -> Corruption:
    """Make a corruption of a transform whose options take the value of the severity."""

    def change(clip: Floats, severity: int, rng: Generator) -> Array:
        import audiomentations

        chosen = {key: values[severity - 1] for key, values in options.items()}
        transform = getattr(audiomentations, name)(**chosen, p=1.0)
        with _global_states(rng):
            changed: Array = transform(samples=clip, sample_rate=RATE_HZ)
        return changed

    return on_clips(change)


def between(values: tuple[Any, ...], name: str) -> dict[str, tuple[Any, ...]]:
    """Return the options min_name and max_name, equal, so that nothing is random."""
    return {f"min_{name}": values, f"max_{name}": values}


def pitch_shift(clip: Floats, severity: int, rng: Generator) -> Array:
    """Shift the pitch up or down at the same length."""
    from audiomentations import PitchShift

    move = SEMITONES[severity - 1] * rng.choice([-1, 1])
    changed: Array = PitchShift(move, move, p=1.0)(samples=clip, sample_rate=RATE_HZ)
    return changed


def bit_crush(clip: Floats, severity: int, _rng: Generator) -> Array:
    """Leave few bits for the clip's own range, as after an automatic gain."""
    from audiomentations import BitCrush

    peak = max(float(np.abs(clip).max()), 1e-9)
    bits = BITS[severity - 1]
    crushed: Array = BitCrush(bits, bits, p=1.0)(samples=clip / peak, sample_rate=RATE_HZ)
    return crushed * peak


def reverb(clip: Floats, severity: int, rng: Generator) -> Array:
    """Convolve the clip with decaying white noise, as a room does, at the same loudness."""
    from scipy.signal import fftconvolve

    fall_s = REVERB_S[severity - 1]
    time_s = np.arange(int(fall_s * RATE_HZ)) / RATE_HZ
    room = rng.standard_normal(len(time_s)) * 10 ** (-3 * time_s / fall_s)
    tail = fftconvolve(clip, room)[: len(clip)]
    loud = np.sqrt(np.mean(clip**2)) / max(float(np.sqrt(np.mean(tail**2))), 1e-9)
    share = WET[severity - 1]
    changed: Array = (1 - share) * clip + share * loud * tail
    return changed


SUITE: Suite = {
    "white_noise": by_library("AddGaussianSNR", **between(SNR_DB, "snr_db")),
    "pink_noise": by_library(
        "AddColorNoise",
        **between(SNR_DB, "snr_db"),
        **between((PINK_DB_PER_OCTAVE,) * 5, "f_decay"),
    ),
    "clipping": by_library("ClippingDistortion", **between(CLIPPED, "percentile_threshold")),
    "distortion": by_library("TanhDistortion", **between(DISTORTION, "distortion")),
    "bit_crush": on_clips(bit_crush),
    "low_pass": by_library("LowPassFilter", **between(LOW_PASS_HZ, "cutoff_freq"), **STEEP),
    "high_pass": by_library("HighPassFilter", **between(HIGH_PASS_HZ, "cutoff_freq"), **STEEP),
    "aliasing": by_library("Aliasing", **between(ALIASED_HZ, "sample_rate")),
    "pitch_shift": on_clips(pitch_shift),
    "time_stretch": by_library("TimeStretch", **between(RATE, "rate")),
    "time_mask": by_library("TimeMask", **between(MASKED, "band_part")),
    "quiet": by_library("Gain", **between(tuple(-db for db in QUIETER_DB), "gain_db")),
    "reverb": on_clips(reverb),
}
