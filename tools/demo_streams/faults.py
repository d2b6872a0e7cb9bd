# SPDX-License-Identifier: Apache-2.0
"""Seven faults of a microphone in the field, on 16-bit audio.

A fault takes words, (words, samples) in units of one 16-bit step, and a severity: 1 is that of the
bundled fault streams. The converter's rounding and clipping come afterwards, in `digitise`.
Severities were chosen on the development speakers.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Rng = np.random.Generator
Sounds = NDArray[np.float64]
Fault = Callable[[Sounds, float, Rng], Sounds]

RATE_HZ = 16_000
FULL_SCALE = 32_768
NOISE_LOW, NOISE_HIGH = 100.0, 500.0  # root mean square of pink noise
# Response of a small capsule behind a clogged hole: frequency in Hz, gain in dB.
RESPONSE_HZ = (0, 150, 400, 1000, 2000, 3000, 4500, 8000)
RESPONSE_DB = (-24, -14, -6, 0, 5, 7, -4, -18)
GAIN_DB = 30.0
DROPOUT_SHARE, DROPOUT_MS = 0.4, 15.0  # share of samples lost, mean length of a gap
DC_OFFSET = 2_000.0
HUM_HZ, HUM_HARMONICS, HUM_AMPLITUDE = 50.0, 12, 250.0


def pink_noise(shape: tuple[int, ...], rng: Rng) -> Sounds:
    """Return noise whose power falls by 3 dB per octave, with a root mean square of 1."""
    spectrum = np.fft.rfft(rng.standard_normal(shape))
    spectrum[:, 0] = 0
    spectrum[:, 1:] /= np.sqrt(np.arange(1, spectrum.shape[1]))
    pink: Sounds = np.fft.irfft(spectrum, shape[1])
    pink /= np.sqrt(np.mean(pink**2, axis=1, keepdims=True))
    return pink


def noise_low(sounds: Sounds, severity: float, rng: Rng) -> Sounds:
    """Add a room's noise."""
    return sounds + severity * NOISE_LOW * pink_noise(sounds.shape, rng)


def noise_high(sounds: Sounds, severity: float, rng: Rng) -> Sounds:
    """Add the noise of a machine nearby."""
    return sounds + severity * NOISE_HIGH * pink_noise(sounds.shape, rng)


def microphone(sounds: Sounds, severity: float, rng: Rng) -> Sounds:
    """Replace the microphone's frequency response."""
    del rng
    hertz = np.fft.rfftfreq(sounds.shape[1], 1 / RATE_HZ)
    gain = 10 ** (severity * np.interp(hertz, RESPONSE_HZ, RESPONSE_DB) / 20)
    return np.fft.irfft(np.fft.rfft(sounds) * gain, sounds.shape[1])


def clipping(sounds: Sounds, severity: float, rng: Rng) -> Sounds:
    """Raise the gain until speech is cut off at full scale."""
    del rng
    return sounds * 10 ** (severity * GAIN_DB / 20)


def dropout(sounds: Sounds, severity: float, rng: Rng) -> Sounds:
    """Lose buffers of samples, which read as 0."""
    share = min(0.9, severity * DROPOUT_SHARE)
    burst = DROPOUT_MS * RATE_HZ / 1000
    lost = np.zeros(sounds.size, np.bool_)
    at = 0
    while at < lost.size:
        length = int(rng.geometric(1 / burst))
        lost[at : at + length] = True
        at += length + int(rng.geometric(share / (burst * (1 - share))))
    return np.where(lost.reshape(sounds.shape), 0.0, sounds)


def offset(sounds: Sounds, severity: float, rng: Rng) -> Sounds:
    """Add a constant, as a leaking capacitor does."""
    del rng
    return sounds + severity * DC_OFFSET


def hum(sounds: Sounds, severity: float, rng: Rng) -> Sounds:
    """Add the mains and its harmonics, which fall with their number."""
    seconds = np.arange(sounds.size) / RATE_HZ  # one phase through the whole fault
    phases = rng.uniform(0, 2 * np.pi, HUM_HARMONICS)
    waves = [
        np.sin(2 * np.pi * number * HUM_HZ * seconds + phase) / number
        for number, phase in enumerate(phases, start=1)
    ]
    wave: Sounds = np.sum(waves, axis=0).reshape(sounds.shape)
    return sounds + severity * HUM_AMPLITUDE * wave


FAULTS: dict[str, Fault] = {
    "noise_low": noise_low,
    "noise_high": noise_high,
    "microphone": microphone,
    "clipping": clipping,
    "dropout": dropout,
    "offset": offset,
    "hum": hum,
}


def digitise(sounds: Sounds) -> NDArray[np.int16]:
    """Round to 16 bits; what exceeds full scale is clipped."""
    return np.clip(np.rint(sounds), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)
