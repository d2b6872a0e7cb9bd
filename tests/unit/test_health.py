# SPDX-License-Identifier: Apache-2.0
"""Input health: the device's integers against the float formulas, and what is refused."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tcuq
from tcuq.errors import InputError
from tcuq.runtime import health as engine_health

# Of a statistic, in the device's unit of 1/1024: docs/spec/arithmetic.md.
LARGEST_ERROR = 1.5 / 1024
GROUPS = ((0, 1, 2), (3, 4, 5))

Array = NDArray[Any]


def float_health(windows: Array, groups: tuple[tuple[int, ...], ...], spread: bool) -> Array:
    """The formulas in float64: level, roughness, repeats and if asked for spread of each group."""
    samples = windows.astype(np.float64)
    columns = []
    for group in groups:
        part = samples[:, :, list(group)]
        steps = np.diff(part, axis=1)
        pairs = max(1, steps.shape[1])
        energies = [(part.mean(axis=1) ** 2).sum(axis=1), (steps**2).sum(axis=(1, 2)) / pairs]
        columns += [0.5 * np.log2(1 + energy) for energy in energies]
        same = np.append(False, (part[1:] == part[:-1]).all(axis=(1, 2)))
        columns.append(np.where(same, 1, (steps == 0).sum(axis=1).max(axis=1) / pairs))
        if spread:
            columns.append(0.5 * np.log2(1 + part.var(axis=1).sum(axis=1)))
    return np.stack(columns, axis=1)


def adversarial_windows(samples: int, channels: int) -> dict[str, Array]:
    """Windows at the ends of what int16 samples can be, and some in between."""
    rng = np.random.default_rng(samples + channels)
    sign = np.where(np.arange(samples) % 2, -1, 1)[:, None]
    ones = np.ones((samples, channels), np.int16)
    walk = rng.normal(0, 300, (samples, channels)).cumsum(axis=0)
    return {
        "zero": 0 * ones,
        "constant 1": ones,
        "lowest": -32768 * ones,
        "highest": 32767 * ones,
        "alternating": 32767 * sign * ones,
        "lowest to highest": np.where(sign < 0, -32768, 32767) * ones,
        "least significant bit": (sign > 0) * ones,
        "noise": rng.integers(-32768, 32768, (samples, channels)),
        "quiet noise": rng.integers(-1, 2, (samples, channels)),
        "saturated walk": np.clip(walk, -32768, 32767),
        "offset": 1000 + rng.normal(0, 20, (samples, channels)),
        "one spike": np.where(np.arange(samples)[:, None] == samples // 2, 32767, 0) * ones,
    }


@pytest.mark.parametrize("samples", [1, 2, 3, 128, 8191, 8192, 65_535])
@pytest.mark.parametrize(("channels", "groups"), [(6, GROUPS), (1, ((0,),)), (3, ((2, 0),))])
def test_statistics_are_the_formulas(
    samples: int, channels: int, groups: tuple[tuple[int, ...], ...]
) -> None:
    """Every statistic of every window is the float formula's within the stated error."""
    cases = adversarial_windows(samples, channels)
    windows = np.rint(np.stack(list(cases.values()))).astype(np.int16)
    statistics = tcuq.health(windows, groups, spread=True)
    errors = np.abs(statistics.values - float_health(windows, groups, spread=True))
    worst = dict(zip(cases, errors.max(axis=1).tolist(), strict=True))
    assert not {name: error for name, error in worst.items() if error > LARGEST_ERROR}


def test_extremes_are_exact_and_do_not_overflow() -> None:
    """64 channels of the longest window are within the error; no level and no change are exact."""
    windows = np.full((2, 65_535, 64), -32768, np.int16)
    windows[1, ::2] = 32767
    groups = (tuple(range(64)),)
    values = tcuq.health(windows, groups, spread=True).values
    assert np.abs(values - float_health(windows, groups, spread=True)).max() <= LARGEST_ERROR
    assert values[0].tolist() == [pytest.approx(18, abs=0.01), 0, 1, 0]
    values = tcuq.health(np.zeros((1, 100, 3), np.int16), spread=True).values
    assert values.tolist() == [[0, 0, 1, 0]]
    assert tcuq.health(np.full((1, 1), 7, np.int16)).values[0, 1:].tolist() == [0, 0, 0]


def test_windows_groups_and_images_are_independent_of_layout() -> None:
    """Windows do not know each other; channels come in any order; inner axes are samples."""
    rng = np.random.default_rng(3)
    windows = rng.integers(-500, 500, (20, 64, 6))
    together = tcuq.health(windows, GROUPS).values
    alone = [tcuq.health(window[None], GROUPS).values[0] for window in windows]
    np.testing.assert_array_equal(together, alone)
    windows = np.random.default_rng(0).integers(-9, 9, (5, 40, 4))
    some = tcuq.health(windows, ((3, 1),)).values
    np.testing.assert_array_equal(some, tcuq.health(windows[:, :, [1, 3]]).values)
    images = np.random.default_rng(0).integers(0, 255, (4, 8, 9, 3))
    flat = tcuq.health(images.reshape(4, 72, 3)).values
    np.testing.assert_array_equal(tcuq.health(images).values, flat)


def test_names_and_spread() -> None:
    """Names follow the groups; spread is there for one channel, or where it is asked for."""
    windows = np.zeros((2, 8, 3), np.int16)
    assert tcuq.health(windows).names == ("input level", "input roughness", "input repeats")
    assert tcuq.health(windows[:, :, 0]).names[3:] == ("input spread",)
    assert tcuq.health(windows[:, :, 0], spread=False).values.shape == (2, 3)
    mixed = tcuq.health(windows, ((0, 1), (2,)))
    assert mixed.names == (
        "group 1 level", "group 1 roughness", "group 1 repeats",
        "group 2 level", "group 2 roughness", "group 2 repeats", "group 2 spread",
    )  # fmt: skip
    named = tcuq.health(windows, ((0, 1), (2,)), names=("microphones", "battery"))
    assert named.names[-1] == "battery spread"


def test_real_numbers_are_read_as_the_sensor_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples are rounded to the smallest step and saturate at 16 bits, in parts of any size."""
    volts = np.array([[0.0, 0.26, -0.24, 9000.0]])
    units = np.array([[0, 1, -1, 32767]], np.int16)
    read = tcuq.health(volts, lsb=0.25).values
    np.testing.assert_array_equal(read, tcuq.health(units).values)
    windows = np.random.default_rng(0).normal(0, 100, (50, 16, 2))
    whole = tcuq.health(windows).values
    monkeypatch.setitem(tcuq.health.__globals__, "CHUNK", 100)
    np.testing.assert_array_equal(tcuq.health(windows).values, whole)


@pytest.mark.parametrize(
    ("windows", "options", "message"),
    [
        (np.zeros(5), {}, r"windows must have the shape \(steps, samples, channels\)"),
        (np.zeros((2, 0, 3)), {}, r"got \(2, 0, 3\)"),
        (np.zeros((1, 65_536)), {}, "at most 65,535 samples, got 65,536"),
        (np.full((1, 4), np.nan), {}, "windows must be finite"),
        (np.full((1, 4), 1e9), {}, "lsb must be the sensor's smallest step.*100% exceed 16 bits"),
        (np.full((1, 4), 0.1), {}, "got 1: all samples round to 0"),
        (np.zeros((1, 4)), {"lsb": 0.0}, "lsb must be above 0, got 0.0"),
        (np.zeros((1, 4, 2)), {"groups": ((0, 2),)}, r"channels in 0..1, each once, got \[\(0, 2"),
        (np.zeros((1, 4, 2)), {"groups": ((0,), (0,))}, "each once"),
        (np.zeros((1, 4, 2)), {"groups": ((),)}, r"1 to 64 channels each, got \[0\]"),
        (np.zeros((1, 4, 65)), {}, r"1 to 64 channels each, got \[65\]"),
        (np.zeros((1, 4, 5)), {"groups": [[c] for c in range(5)]}, "at most 16 stat.*got 20"),
        (np.zeros((1, 4)), {"names": ("a", "b")}, "names must be 1, one per group, got 2"),
    ],
)
def test_refused(windows: Array, options: dict[str, Any], message: str) -> None:
    """What breaks a rule is named, with the rule and the value."""
    with pytest.raises(InputError, match=message):
        tcuq.health(windows, **options)


@pytest.mark.parametrize(
    ("samples", "frames", "groups", "statistics"),
    [(8, 4, b"\x03\x00", 3), (8, 0, b"\x02\x00", 3), (8, 4, b"\x02", 3), (8, 4, b"\x00\x00", 3),
     (8, 4, b"\x02\x01", 3), (8, 65_536, b"\x02\x00", 3), (8, 4, b"", 3),
     (8, 4, b"\x02\x00" * 17, 51), (65, 1, b"\x41\x00", 3)],
)  # fmt: skip
def test_engine_refuses_what_does_not_fit(
    samples: int, frames: int, groups: bytes, statistics: int
) -> None:
    """The engine writes into memory of the right size or not at all."""
    windows, into = np.zeros(samples, np.int16), np.full(statistics, 9, np.int16)
    with pytest.raises(ValueError, match="groups must be valid, windows be whole"):
        engine_health(windows, frames, groups, into)
    assert (into == 9).all()
