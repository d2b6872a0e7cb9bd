# SPDX-License-Identifier: Apache-2.0
"""Eight faults of an inertial sensor, on float32 (n, samples, 6): acc in g, gyro in rad/s.

A batch is one sensor: its direction, axis or order of failing axes is drawn once per call. Faults
at severity 3 are those of tcuq_benchmark.measurements.alarm_hapt; 1 to 5 are 0.5 to 1.5 times it.
"""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from tcuq_benchmark.corruptions.suite import Array, Corruption, Floats, Suite

FACTOR = (0.5, 0.75, 1.0, 1.25, 1.5)
NOISE = np.repeat([0.3, 0.6], 3)  # standard deviation of acc and gyro
GAIN = 0.6  # every channel reads 1.6 times the true value
BIAS = (0.3, 0.2)  # length of the constant offset, acc and gyro
ROTATION_DEGREES = 40.0
LOST, BURST = 0.3, 10.0  # share of the samples lost, mean length of a gap
RANGE = np.repeat([1.0, 1.5], 3)  # at severity 3 acc and gyro saturate here
RANGE_SHRINKS = (2.0, 1.4, 1.0, 0.7, 0.5)
HOLD_SAMPLES = (2, 4, 6, 9, 13)  # samples for which a slow sensor repeats one reading


def noise(x: Floats, severity: int, rng: Generator) -> Array:
    """Add independent normal noise."""
    return x + FACTOR[severity - 1] * NOISE * rng.standard_normal(x.shape)


def gain(x: Floats, severity: int, _rng: Generator) -> Array:
    """Multiply every channel."""
    return x * (1 + FACTOR[severity - 1] * GAIN)


def bias(x: Floats, severity: int, rng: Generator) -> Array:
    """Add a constant offset to each sensor in a random direction."""
    direction = rng.standard_normal((2, 3))
    direction *= np.reshape(BIAS, (2, 1)) / np.linalg.norm(direction, axis=1, keepdims=True)
    return x + FACTOR[severity - 1] * direction.ravel()


def rotation(x: Floats, severity: int, rng: Generator) -> Array:
    """Rotate the device about a random axis."""
    from scipy.spatial.transform import Rotation

    axis = rng.standard_normal(3)
    angle = np.radians(FACTOR[severity - 1] * ROTATION_DEGREES)
    turn = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
    turned: Array = (x.reshape(*x.shape[:2], 2, 3) @ turn.T).reshape(x.shape)
    return turned


def dropout(x: Floats, severity: int, rng: Generator) -> Array:
    """Lose bursts of samples, which read 0: a two-state Markov chain."""
    share = FACTOR[severity - 1] * LOST
    leave, enter = 1 / BURST, share / (1 - share) / BURST
    draws = rng.random(x.shape[:2])
    lost = np.empty(x.shape[:2], np.bool_)
    state = draws[:, 0] < share
    for step in range(x.shape[1]):
        state = np.where(state, draws[:, step] >= leave, draws[:, step] < enter)
        lost[:, step] = state
    return np.where(lost[..., None], 0, x)


def stuck(x: Floats, severity: int, rng: Generator) -> Array:
    """Let as many axes as the severity repeat the first value of the batch."""
    out = x.copy()
    axes = rng.permutation(6)[:severity]
    out[..., axes] = x[0, 0, axes]
    return out


def saturation(x: Floats, severity: int, _rng: Generator) -> Array:
    """Clip readings beyond a range that is too small."""
    limit = RANGE * RANGE_SHRINKS[severity - 1]
    return np.clip(x, -limit, limit)


def hold(x: Floats, severity: int, _rng: Generator) -> Array:
    """Repeat each reading until the next, as a slow sensor does."""
    every = HOLD_SAMPLES[severity - 1]
    return x[:, np.arange(x.shape[1]) // every * every]


def on_signals(change: Callable[[Floats, int, Generator], Array]) -> Corruption:
    """Make a corruption of float32 signals with six channels."""

    def corruption(batch: Array, severity: int, rng: Generator) -> Floats:
        if batch.dtype != np.float32 or batch.ndim != 3 or batch.shape[2] != 6:
            raise ValueError(
                f"signals must be float32 (n, samples, 6), got {batch.dtype} {batch.shape}"
            )
        return change(batch, severity, rng).astype(np.float32)

    return corruption


SUITE: Suite = {
    fault.__name__: on_signals(fault)
    for fault in (noise, gain, bias, rotation, dropout, stuck, saturation, hold)
}
