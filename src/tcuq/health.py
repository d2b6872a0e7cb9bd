# SPDX-License-Identifier: Apache-2.0
"""Input health: statistics of a step's raw samples, computed by the device's own C.

Per group of channels: level 1/2 log2(1 + |mean|²), roughness 1/2 log2(1 + Σ mean squared
difference), repeats (the largest share of samples that equal the one before; 1 if the whole window
repeats the one before it) and spread 1/2 log2(1 + Σ variance).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq import runtime
from tcuq._columns import HEALTH_ONE, MAX_STATISTICS
from tcuq._conversion import as_numbers
from tcuq.errors import InputError

MAX_SAMPLES = 65_535  # of a window
MAX_CHANNELS = 64  # of a group
MOST_SATURATED = 0.5  # of the samples: more, and lsb is not the sensor's
CHUNK = 1 << 20  # samples that are converted at once
LOWEST, HIGHEST = -32_768, 32_767

Array = NDArray[Any]
Groups = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True, eq=False)
class Health:
    """Statistics of raw samples, for ``tcuq.Stream(..., health=...)``.

    Parameters
    ----------
    values
        (steps, statistics), in steps of 1/1024 as the device has them.
    names
        One per statistic, such as "accelerometer roughness": an alarm names its cause by it.
    """

    values: NDArray[np.float64]
    names: tuple[str, ...]


def health(
    windows: ArrayLike,
    groups: Groups | None = None,
    *,
    lsb: float = 1.0,
    spread: bool | None = None,
    names: Sequence[str] | None = None,
) -> Health:
    """Compute the input health of every step from the raw samples its prediction was made of.

    Parameters
    ----------
    windows
        (steps, samples, channels), or (steps, samples) of one channel. More axes between the first
        and the last, as of images, are samples in the order of memory.
    groups
        Channels to judge together, such as ((0, 1, 2), (3, 4, 5)) for the axes of an accelerometer
        and a gyroscope: a vector's length does not depend on how the device is worn. None: all
        channels as one group. On the device, a frame holds the channels in this order.
    lsb
        The sensor's smallest step in the unit of ``windows``: samples are rounded to multiples of
        it and saturate at 16 bits, as the device reads them.
    spread
        Whether to add the spread of each group; None: where a group is one channel, as in audio.
    names
        One per group; None: "input", or "group 1", "group 2", ...

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> windows = rng.normal(0.0, 0.1, (3, 128, 6))  # in g and in rad/s, of 128 samples
    >>> windows[2, :, :3] = windows[2, 0, :3]  # the accelerometer is stuck
    >>> pair = ((0, 1, 2), (3, 4, 5))
    >>> found = health(windows, pair, lsb=1 / 4096, names=("accelerometer", "gyroscope"))
    >>> found.names[:3]
    ('accelerometer level', 'accelerometer roughness', 'accelerometer repeats')
    >>> found.values[:, 1:3].round(1).tolist()
    [[10.0, 0.0], [9.9, 0.0], [0.0, 1.0]]
    """
    reader = SampleReader(lsb)
    statistics = read_health(windows, groups, reader, spread=spread, names=names)
    reader.refuse_wrong_lsb()
    return statistics


@dataclass(slots=True)
class SampleReader:
    """Reads samples as the sensor gives them, int16, and counts what its step does not suit.

    ``last`` is the window before the next, with which that one is compared.
    """

    lsb: float
    samples: int = 0
    saturated: int = 0
    any_given: bool = False
    any_left: bool = False
    last: NDArray[np.int16] | None = None

    def __post_init__(self) -> None:
        """Refuse a step of no size."""
        if not (np.isfinite(self.lsb) and self.lsb > 0):
            raise InputError(f"lsb must be above 0, got {self.lsb}")

    def read(self, samples: Array) -> NDArray[np.int16]:
        """Round to multiples of the step; saturate at 16 bits."""
        if samples.dtype == np.int16 and self.lsb == 1:
            return np.ascontiguousarray(samples)
        units = np.rint(samples.astype(np.float64) / self.lsb)
        if not np.isfinite(units).all():
            raise InputError("windows must be finite, got NaN or infinity")
        self.samples += units.size
        self.saturated += int(((units < LOWEST) | (units > HIGHEST)).sum())
        self.any_given = self.any_given or bool(samples.any())
        self.any_left = self.any_left or bool(units.any())
        return np.ascontiguousarray(np.clip(units, LOWEST, HIGHEST).astype(np.int16))

    def refuse_wrong_lsb(self) -> None:
        """Refuse a step by which nothing is left of the samples, or most saturate."""
        lost = self.any_given and not self.any_left
        if lost or self.saturated > MOST_SATURATED * self.samples:
            share = self.saturated / self.samples
            problem = "all samples round to 0" if lost else f"{share:.0%} exceed 16 bits"
            raise InputError(
                "lsb must be the sensor's smallest step, in the unit of windows,"
                f" got {self.lsb:g}: {problem}"
            )


def read_health(
    windows: ArrayLike,
    groups: Groups | None,
    reader: SampleReader,
    *,
    spread: bool | None = None,
    names: Sequence[str] | None = None,
) -> Health:
    """Compute health as ``health`` does; the caller asks the reader about its step at the end."""
    rows = _checked_windows(windows)
    channels = _checked_groups(groups, rows.shape[2])
    spreads = [len(group) == 1 if spread is None else spread for group in channels]
    titles = _statistic_names(spreads, names)
    layout = bytes(v for group, s in zip(channels, spreads, strict=True) for v in (len(group), s))
    into = np.empty((len(rows), len(titles)), np.int16)
    order = [channel for group in channels for channel in group]
    steps = max(1, CHUNK // (rows.shape[1] * rows.shape[2]))
    for begin in range(0, len(rows), steps):
        part = rows[begin : begin + steps]
        if order != list(range(rows.shape[2])):
            part = part[:, :, order]
        samples = reader.read(part)
        known = 0 if reader.last is None else 1
        if reader.last is not None:
            samples = np.concatenate([reader.last, samples])
        statistics = np.empty((len(samples), len(titles)), np.int16)
        runtime.health(samples, rows.shape[1], layout, statistics)
        into[begin : begin + steps], reader.last = statistics[known:], samples[-1:].copy()
    return Health(into / HEALTH_ONE, titles)


def _statistic_names(spreads: Sequence[bool], names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the name of every statistic, group by group in the device's order."""
    if names is None:
        several = len(spreads) > 1
        names = [f"group {i + 1}" for i in range(len(spreads))] if several else ["input"]
    if len(names) != len(spreads):
        raise InputError(f"names must be {len(spreads)}, one per group, got {len(names)}")
    titles = tuple(
        f"{name} {statistic}"
        for name, spread in zip(names, spreads, strict=True)
        for statistic in ("level", "roughness", "repeats", *(["spread"] if spread else []))
    )
    if len(titles) > MAX_STATISTICS:
        raise InputError(
            f"groups must have at most {MAX_STATISTICS} statistics together, got {len(titles)}:"
            " judge more channels in one group"
        )
    return titles


def _checked_windows(windows: ArrayLike) -> Array:
    """(steps, samples, channels) of finite numbers."""
    rows = as_numbers(windows, "windows")
    if rows.ndim < 2 or rows.size == 0:
        raise InputError(
            "windows must have the shape (steps, samples, channels) or (steps, samples),"
            f" got {rows.shape}"
        )
    rows = rows.reshape(len(rows), -1, rows.shape[-1] if rows.ndim > 2 else 1)
    if rows.shape[1] > MAX_SAMPLES:
        raise InputError(
            f"windows must have at most {MAX_SAMPLES:,} samples, got {rows.shape[1]:,}"
        )
    return rows


def _checked_groups(groups: Groups | None, channels: int) -> list[tuple[int, ...]]:
    if groups is None:
        groups = (range(channels),)
    chosen = [tuple(int(channel) for channel in group) for group in groups]
    flat = [channel for group in chosen for channel in group]
    if not chosen or not all(1 <= len(group) <= MAX_CHANNELS for group in chosen):
        sizes = [len(group) for group in chosen]
        raise InputError(f"groups must have 1 to {MAX_CHANNELS} channels each, got {sizes}")
    if len(set(flat)) < len(flat) or min(flat) < 0 or max(flat) >= channels:
        raise InputError(f"groups must name channels in 0..{channels - 1}, each once, got {chosen}")
    return chosen
