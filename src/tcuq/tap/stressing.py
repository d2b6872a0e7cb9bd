# SPDX-License-Identifier: Apache-2.0
"""Stress: a stream of recorded inputs through generic sensor faults, without labels.

The clean prediction of each input is its label: a fault that changes the prediction made an error.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq._conversion import as_numbers
from tcuq.errors import InputError
from tcuq.stream import Kind, Stream
from tcuq.tap.recorder import Pool, Tap, record

Array = NDArray[Any]
Floats = NDArray[np.float64]
Fault = Callable[["Sensor", Floats, float, np.random.Generator], Floats]

STRETCH = 32  # steps of one fault
STRENGTHS = (0.3, 0.6, 1.0)


class Sensor:
    """What the recorded values tell of a sensor: resting value and spread, along the last axis."""

    def __init__(self, inputs: Array) -> None:
        rows = inputs.reshape(-1, inputs.shape[-1]).astype(np.float64)
        self.rest: Floats = np.median(rows, axis=0)
        self.spread: Floats = rows.std(axis=0)


def _gain(sensor: Sensor, inputs: Floats, strength: float, _: np.random.Generator) -> Floats:
    return sensor.rest + (1 + 2 * strength) * (inputs - sensor.rest)


def _dimming(sensor: Sensor, inputs: Floats, strength: float, _: np.random.Generator) -> Floats:
    return sensor.rest + (1 - 0.85 * strength) * (inputs - sensor.rest)


def _noise(sensor: Sensor, inputs: Floats, strength: float, rng: np.random.Generator) -> Floats:
    return inputs + sensor.spread * rng.normal(scale=strength, size=inputs.shape)


def _offset(sensor: Sensor, inputs: Floats, strength: float, rng: np.random.Generator) -> Floats:
    return inputs + sensor.spread * float(strength * rng.choice((-1.5, 1.5)))


def _dropout(sensor: Sensor, inputs: Floats, strength: float, rng: np.random.Generator) -> Floats:
    return np.where(rng.random(inputs.shape) < 0.5 * strength, sensor.rest, inputs)


def _clipping(sensor: Sensor, inputs: Floats, strength: float, _: np.random.Generator) -> Floats:
    reach = (1.2 - strength) * sensor.spread
    return np.clip(inputs, sensor.rest - reach, sensor.rest + reach)


def _freezing(_: Sensor, inputs: Floats, strength: float, rng: np.random.Generator) -> Floats:
    # A part of each input stays that of the first step: one that is stale as a whole looks healthy.
    # A single channel in front, as in (steps, 1, height, width), has no part: its rows freeze.
    axis = next((a for a in range(1, inputs.ndim) if inputs.shape[a] > 1), 1)
    frozen = max(1, round(0.7 * strength * inputs.shape[axis]))
    begin = rng.integers(inputs.shape[axis] - frozen + 1)
    part = (slice(None),) * axis + (slice(begin, begin + frozen),)
    stale = inputs.copy()
    stale[part] = inputs[:1][part]
    return stale


def _dead_channel(sensor: Sensor, inputs: Floats, _: float, rng: np.random.Generator) -> Floats:
    axis = max(a for a in range(inputs.ndim) if a == 1 or inputs.shape[a] > 1)
    shape = [size if a == axis else 1 for a, size in enumerate(inputs.shape)]
    dead = np.arange(inputs.shape[axis]).reshape(shape) == rng.integers(inputs.shape[axis])
    return np.where(dead, sensor.rest, inputs)


FAULTS: tuple[Fault | None, ...] = (
    None, _gain, _dimming, _noise, _offset, _dropout, _clipping, _freezing, _dead_channel,
)  # fmt: skip


def stress(
    tap: Tap,
    inputs: Any,  # noqa: ANN401 - whatever becomes an array of numbers
    *,
    kind: Kind | None = None,
    pool: Pool = "flatten",
    temperature: float = 1.0,
    seed: int = 0,
    progress: Callable[[int], object] | None = None,
) -> Stream:
    """Record a model on inputs through generic sensor faults, with its clean predictions as labels.

    Stretches of the recording, in order, take turns among no fault, gain, dimming, noise, offset,
    dropout, clipping, freezing and a dead channel, at three strengths; each is a recording of its
    own. ``tcuq.fit(calibration, stress=...)`` learns from it how much novelty tells of this
    model's errors.

    Parameters
    ----------
    tap, kind, pool, temperature, progress
        As in ``record``.
    inputs
        An array (steps, ...) in recorded order, such as those of the calibration stream.
    seed
        Of the faults' order and noise.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from tcuq.tap import open_tap
    >>> inputs = np.random.default_rng(0).normal(size=(600, 4))
    >>> model = LogisticRegression().fit(inputs, inputs[:, 0] > 0)
    >>> stress(open_tap(model), inputs)
    Stream(600 steps, 2 classes, no features, 19 recordings, 100% labelled)
    """
    values = as_numbers(inputs, "inputs")
    if values.ndim < 2 or len(values) < STRETCH * len(FAULTS):
        raise InputError(
            f"inputs must be an array (steps, ...) of at least {STRETCH * len(FAULTS)} steps, got"
            f" the shape {values.shape}"
        )
    options: dict[str, Any] = {"kind": kind, "pool": pool, "temperature": temperature}
    clean = record(tap, values, **options, progress=progress)
    faulty, starts, shifted = _faulty(values, np.random.default_rng(seed))
    stream = record(tap, faulty, **options, progress=progress)
    return Stream(
        stream.posteriors,
        stream.features,
        clean.posteriors.argmax(axis=1),
        kind=stream.kind,
        classes=stream.class_names,
        starts=starts,
        shifted=shifted,
    )


def _faulty(values: Array, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64], Array]:
    """Return the inputs with faults, where each stretch begins, and which steps have a fault."""
    sensor = Sensor(values)
    starts = np.arange(0, len(values), STRETCH)
    turns = np.concatenate(
        [rng.permutation(len(FAULTS)) for _ in range(len(starts) // len(FAULTS) + 1)]
    )
    faulty, shifted = values.copy(), np.zeros(len(values), np.bool_)
    for start, turn in zip(starts, turns, strict=False):
        fault, stretch = FAULTS[turn], slice(start, start + STRETCH)
        if fault is None:
            continue
        broken = fault(sensor, values[stretch].astype(np.float64), rng.choice(STRENGTHS), rng)
        faulty[stretch] = _as_recorded(broken, values.dtype)
        shifted[stretch] = True
    return faulty, starts, shifted


def _as_recorded(values: Floats, dtype: np.dtype[Any]) -> Array:
    """Return the values as the sensor would give them: integers saturate."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = np.clip(np.rint(values), limits.min, limits.max)
    return values.astype(dtype)
