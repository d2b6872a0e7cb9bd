# SPDX-License-Identifier: Apache-2.0
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from tcuq_benchmark.corruptions import (
    audio,
    blur,
    cifar10_c,
    inertial,
    mnist_c,
    small_image,
    weather,
)
from tcuq_benchmark.corruptions.suite import SEVERITIES, apply

Array = NDArray[Any]
Load = Callable[[str], Any]
SUITES = {
    "mnist": mnist_c, "cifar": cifar10_c, "audio": audio, "inertial": inertial,
    "digits": small_image,
}  # fmt: skip
RECORDED: dict[str, tuple[str, Callable[[Any], Array]]] = {
    "mnist": ("mnist", lambda samples: samples.x[:64]),
    "cifar": ("tinyimagenet", lambda samples: samples.x[:32]),
    "audio": ("audiomnist", lambda samples: samples.x[::40]),
    "digits": ("digits", lambda samples: samples.x),
    "inertial": ("hapt", lambda recordings: recordings[0].signal[None, -4_000:]),
}
EXEMPT = {"mnist": mnist_c.NOT_MONOTONE, "cifar": cifar10_c.NOT_MONOTONE}


@pytest.fixture(scope="module")
def batches() -> dict[str, Array]:
    """Return synthetic inputs: strokes, coloured blobs, voiced sweeps, a walk."""
    rng = np.random.default_rng(0)
    strokes = ndimage.gaussian_filter(rng.random((24, 28, 28)), (0, 2, 2))
    strokes = np.clip((strokes - np.quantile(strokes, 0.85)) * 30, 0, 1)
    strokes[:, :5] = strokes[:, 23:] = strokes[:, :, :5] = strokes[:, :, 23:] = 0
    blobs = ndimage.gaussian_filter(rng.random((24, 32, 32, 3)), (0, 1.5, 1.5, 0))
    blobs = (blobs - blobs.min()) / np.ptp(blobs)
    time_s = np.arange(16_000) / 16_000
    pitch = rng.uniform(120, 240, (8, 1)) * (1 + 0.2 * np.sin(2 * np.pi * 2 * time_s))
    phase = np.cumsum(2 * np.pi * pitch / 16_000, axis=1)
    voice = sum(np.sin(k * phase) / k for k in range(1, 12)) * np.exp(
        -(((time_s - 0.4) / 0.2) ** 2)
    )
    steps = np.arange(600)[:, None] / 50 * 2 * np.pi * 1.8
    walk = np.array([0, 0.1, 1, 0, 0, 0]) + 0.8 * np.sin(steps + np.arange(6))
    return {
        "mnist": (strokes * 255).astype(np.uint8),
        "cifar": (blobs * 255).astype(np.uint8),
        "audio": (voice * 6_000).astype(np.int16),
        "inertial": np.stack([walk, 1.2 * walk]).astype(np.float32),
        "digits": (16 * strokes[:, 10:18, 10:18]).astype(np.float32),
    }


@pytest.fixture(autouse=True)
def frost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the photographs of frost, so that no data are needed."""
    ice = np.random.default_rng(1).integers(100, 255, (2, 60, 50, 3)).astype(np.uint8)
    monkeypatch.setattr(cifar10_c, "photographs", lambda: list(ice))


def strength(kind: str, name: str, before: Array, after: Array) -> float:
    """Return the mean absolute difference of a corrupted input, or that of its loudness."""
    pair = [values.astype(np.float64) for values in (before, after)]
    if kind == "audio" and name in audio.GROWS_IN_LOUDNESS:
        pair = [np.abs(x).reshape(len(x), -1, 320).mean(axis=2) for x in pair]
    return float(np.abs(pair[0] - pair[1]).mean())


def test_suites_are_those_published() -> None:
    """MNIST-C has 15 corruptions with a published severity each, CIFAR-10-C 19."""
    assert list(mnist_c.SUITE) == list(mnist_c.PUBLISHED)
    assert (len(mnist_c.SUITE), len(cifar10_c.SUITE)) == (15, 19)
    assert set(cifar10_c.NOT_MONOTONE) < set(cifar10_c.SUITE)
    assert set(mnist_c.NOT_MONOTONE) < set(mnist_c.SUITE)


@pytest.mark.parametrize("kind", SUITES)
def test_type_and_shape_stay_and_a_seed_fixes_all(kind: str, batches: dict[str, Array]) -> None:
    """Same seed, same bytes; the input is unchanged, by every corruption of a suite."""
    x = batches[kind]
    original = x.copy()
    for name in SUITES[kind].SUITE:
        first, again = (
            apply(SUITES[kind].SUITE, name, x, 3, np.random.default_rng(5)) for _ in range(2)
        )
        assert (first.dtype, first.shape) == (x.dtype, x.shape), name
        np.testing.assert_array_equal(first, again, err_msg=name)
        np.testing.assert_array_equal(x, original, err_msg=name)


@pytest.mark.parametrize("kind", SUITES)
def test_severity_grows(kind: str, load: Load, subtests: pytest.Subtests) -> None:
    """Each severity changes recorded inputs more than the one before, unless exempt."""
    data, inputs = RECORDED[kind]
    x = inputs(load(data)["development"])
    suite = SUITES[kind].SUITE
    for name in suite:
        with subtests.test(name):
            moved = [
                strength(kind, name, x, apply(suite, name, x, s, np.random.default_rng(3)))
                for s in SEVERITIES
            ]
            assert min(moved) > 0, moved
            if name not in EXEMPT.get(kind, {}):
                assert (np.diff(moved) > 0).all(), moved


def test_severity_zero_is_the_input(batches: dict[str, Array]) -> None:
    """Clean steps pass untouched."""
    x = batches["mnist"]
    assert apply(mnist_c.SUITE, "fog", x, 0, np.random.default_rng(0)) is x


@pytest.mark.parametrize(("name", "severity"), [("rain", 1), ("fog", 6)])
def test_unknown_corruption_or_severity_is_refused(name: str, severity: int) -> None:
    """The message names the rule and the value."""
    with pytest.raises(ValueError, match="must"):
        apply(
            mnist_c.SUITE, name, np.zeros((1, 28, 28), np.uint8), severity, np.random.default_rng()
        )


@pytest.mark.parametrize("kind", SUITES)
def test_wrong_type_is_refused(kind: str) -> None:
    """A batch of another type is an error."""
    suite = SUITES[kind].SUITE
    with pytest.raises(ValueError, match="must be"):
        next(iter(suite.values()))(np.zeros((1, 28)), 1, np.random.default_rng())


def test_global_states_are_restored(batches: dict[str, Array]) -> None:
    """The audio library uses the global random states; they are restored."""
    before = random.getstate()
    audio.SUITE["white_noise"](batches["audio"], 1, np.random.default_rng(0))
    assert random.getstate() == before


def test_quarter_turn_is_exact() -> None:
    """The affine map turns about the centre: a turn by 90 degrees is NumPy's."""
    x = np.random.default_rng(0).random((1, 28, 28, 1), np.float32)
    angle = np.array([np.pi / 2])
    turned = mnist_c.mapped(x, [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    np.testing.assert_allclose(
        turned[0, 1:-1, 1:-1, 0], np.rot90(x[0, ..., 0])[1:-1, 1:-1], atol=1e-5
    )


def test_trail_keeps_brightness_and_direction() -> None:
    """A point becomes a horizontal trail whose weights sum to one."""
    x = np.zeros((1, 28, 28, 1))
    x[0, 14, 14] = 1
    trail = blur.motion(x, 5, 3.0, np.zeros(1))[0, ..., 0]
    assert trail.sum() == pytest.approx(1)
    assert set(np.flatnonzero(trail.sum(axis=1))) == {14}
    assert np.count_nonzero(trail) == 11


def test_enlarging_is_linear_interpolation() -> None:
    """The enlarged middle is SciPy's zoom, cut to size."""
    x = np.random.default_rng(0).random((2, 32, 32, 3))
    whole = ndimage.zoom(x[:, 3:29, 3:29], (1, 1.25, 1.25, 1), order=1)
    np.testing.assert_allclose(blur.magnified(x, 1.25), whole[:, :32, :32], atol=1e-9)


def test_fractal_fills_the_unit_range() -> None:
    """Every field has 0 and 1, and no field is another."""
    fields = weather.fractal(3, 32, 2.0, np.random.default_rng(0))
    np.testing.assert_array_equal(fields.min(axis=(1, 2)), 0)
    np.testing.assert_array_equal(fields.max(axis=(1, 2)), 1)
    assert len(np.unique(fields[:, 5, 5])) == 3


def test_lost_samples_have_the_wanted_share() -> None:
    """At severity 3 three samples in ten are lost, in gaps of ten on average."""
    x = np.ones((4, 20_000, 6), np.float32)
    lost = inertial.SUITE["dropout"](x, 3, np.random.default_rng(0))[..., 0] == 0
    assert lost.mean() == pytest.approx(0.3, abs=0.03)
    gaps = np.count_nonzero(lost[:, 1:] & ~lost[:, :-1])
    assert lost.sum() / gaps == pytest.approx(10, rel=0.1)
