# SPDX-License-Identifier: Apache-2.0
"""Power of an epoch's e-value, its mean without drift, and the cost of its integers.

Block means are Gaussian, and drift moves those of one channel. Each epoch has its own calibration:
edges are order statistics of its blocks, so the chance of passing them is a product of beta
variables. Bets are those of `tcuq.calibrate.bets`; the device's C takes the blocks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

from results.result import Row, measure
from tcuq.calibrate.bets import CONFIDENCE_LOST, SHARES_ABOVE, STAKES, gains_q8
from tcuq_fleet.simulate.simulator import epoch_evidence

Array = NDArray[Any]

BLOCKS = 675  # of a channel in an epoch
CHANNELS = (4, 5)  # without and with input health
CALIBRATIONS = (366, 183, 92)  # blocks; the first is required
BITS = 10
STRONG, MILD = 3.0, 1.5  # standard deviations of a block mean
TENTH = BLOCKS // 10
BATCH = 2_000  # epochs
LIKELY_99 = 2.576


@dataclass(frozen=True, slots=True)
class Drift:
    """A shift of one channel's block means between two blocks, and the power it must be seen at."""

    name: str
    size: float
    first: int
    last: int
    power: float


DRIFTS = (
    Drift("strong drift in the last 12 blocks", STRONG, BLOCKS - 12, BLOCKS, 0.9),
    Drift("mild drift in the last tenth", MILD, BLOCKS - TENTH, BLOCKS, 0.9),
    Drift("mild drift of a tenth that ends before the epoch", MILD, 300, 300 + TENTH, 0.85),
)
CALM = Drift("no drift", 0.0, 0, 0, 0.0)


@dataclass(frozen=True, eq=False)
class Evidence:
    """log2 of e-values, by the device and in float, and whether calibration's bounds held."""

    device: Array
    reference: Array
    bounded: Array

    @classmethod
    def joined(cls, parts: Sequence["Evidence"]) -> "Evidence":
        """Return all parts as one."""
        return cls(
            np.concatenate([part.device for part in parts]),
            np.concatenate([part.reference for part in parts]),
            np.concatenate([part.bounded for part in parts]),
        )


@cache
def bounds(blocks: int, channels: int) -> tuple[float, ...]:
    """Return the Clopper-Pearson bounds on passing each edge, as the fit computes them."""
    level = 1 - CONFIDENCE_LOST / (len(STAKES) * channels)
    above = [int(share * blocks) for share in SHARES_ABOVE]
    return tuple(float(beta.ppf(level, k + 1, blocks - k)) for k in above)


def chances(blocks: int, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Return the chances of passing the three edges of random calibrations, on a last axis."""
    above = [int(share * blocks) for share in SHARES_ABOVE]
    first = rng.beta(above[0] + 1, blocks - above[0], shape)
    second = first * rng.beta(above[1] + 1, above[0] - above[1], shape)
    third = second * rng.beta(above[2] + 1, above[1] - above[2], shape)
    return np.stack([first, second, third], axis=-1)


def epochs(
    drift: Drift, blocks: int, channels: int, count: int, rng: np.random.Generator
) -> Evidence:
    """Run epochs, each after its own calibration of so many blocks."""
    passing = chances(blocks, (count, channels), rng)
    return run(passing, drift, blocks, rng)


def run(passing: Array, drift: Drift, blocks: int, rng: np.random.Generator) -> Evidence:
    """Run epochs in which edges are passed with these chances, except in drift."""
    count, channels = passing.shape[:2]
    drifted = norm.sf(norm.isf(passing[:, 0]) - drift.size).astype(np.float32)
    at = slice(drift.first, drift.last)
    draws = rng.random((count, BLOCKS, channels), np.float32)
    passed = np.zeros(draws.shape, np.uint8)
    for edge in range(len(STAKES)):
        limit = np.repeat(passing[:, None, :, edge].astype(np.float32), BLOCKS, axis=1)
        limit[:, at, 0] = drifted[:, None, edge]
        passed += draws < limit
    gains = gains_q8(blocks, channels)
    evidence_q8 = np.empty(count, np.int16)
    epoch_evidence((gains[0], gains[1], gains[2], gains[3]), BLOCKS, channels, passed, evidence_q8)
    payoffs = np.exp2(np.array(gains) / 256)
    means = payoffs[0] + passing @ np.diff(payoffs)
    return Evidence(evidence_q8 / 256, reference(passed, payoffs), (means <= 1).all(axis=1))


def reference(passed: Array, payoffs: Array) -> Array:
    """Return log2 of the e-values in float: the equations of `tcuq.stages.epoch`, many at once."""
    onset, span = np.zeros((2, len(passed), passed.shape[2]))
    for block in range(BLOCKS):
        onset = (onset + 1) * payoffs[passed[:, block]]
        span += onset
    places = BLOCKS + 1
    value = (onset / (2 * places) + span / (places * (places + 1))).mean(axis=1)
    return np.asarray(np.log2(value))


def power_rows(count: int, rng: np.random.Generator) -> tuple[list[Row], Evidence]:
    """Return the power against each drift after each calibration; and all epochs behind it."""
    rows, every = [], []
    for channels in CHANNELS:
        for blocks in CALIBRATIONS:
            for drift in DRIFTS:
                evidence = epochs(drift, blocks, channels, count, rng)
                every.append(evidence)
                device, exact = ((e >= BITS).mean() for e in (evidence.device, evidence.reference))
                required = blocks == CALIBRATIONS[0]
                rows.append(
                    Row(
                        f"{drift.name}, {channels} channels, {blocks} blocks of calibration:"
                        f" power at {BITS} bits, on the device and in float",
                        f"≥ {drift.power}" if required else "stated",
                        f"{device:.3f} and {exact:.3f}",
                        bool(device >= drift.power) if required else None,
                    )
                )
    return rows, Evidence.joined(every)


def calm_rows(count: int, channels: int, rng: np.random.Generator) -> Iterator[Row]:
    """Yield the mean without drift: after random calibrations, and at the bounds themselves."""
    blocks = CALIBRATIONS[0]
    title = f"{channels} channels, {blocks} blocks of calibration, {count:,} epochs without drift"
    batches = range(count // BATCH)
    calm = Evidence.joined([epochs(CALM, blocks, channels, BATCH, rng) for _ in batches])
    yield mean_row(f"{title}, each after its own calibration whose bets have mean ≤ 1", calm)
    failed = float(1 - calm.bounded.mean())
    yield Row(
        f"{title}: calibrations in which a channel's bet has a mean above 1",
        f"≤ {100 * CONFIDENCE_LOST:g} %",
        f"{100 * failed:.2f} %",
        failed <= CONFIDENCE_LOST,
    )
    worst = np.tile(bounds(blocks, channels), (BATCH, channels, 1))
    limit = Evidence.joined([run(worst, CALM, blocks, rng) for _ in batches])
    yield mean_row(f"{title}, edges passed as often as calibration's bounds permit", limit)
    payoffs = np.exp2(np.array(gains_q8(blocks, channels)) / 256)
    exact = exact_mean(float(payoffs[0] + worst[0, 0] @ np.diff(payoffs)))
    yield Row(
        f"the same, {channels} channels: mean e-value by its equations, without simulation",
        "≤ 1",
        f"{exact:.4f}",
        exact <= 1,
    )


def exact_mean(bet: float) -> float:
    """Return the mean of an epoch's e-value in float when independent bets have this mean."""
    onset = span = 0.0
    for _ in range(BLOCKS):
        onset = (onset + 1) * bet
        span += onset
    return onset / (2 * (BLOCKS + 1)) + span / ((BLOCKS + 1) * (BLOCKS + 2))


def mean_row(title: str, calm: Evidence) -> Row:
    """Return the mean e-value of the device with its 99 % interval."""
    values = np.exp2(calm.device[calm.bounded])
    mean, error = values.mean(), LIKELY_99 * values.std() / len(values) ** 0.5
    return Row(
        f"{title}: mean e-value, 99 % interval; largest",
        "mean ≤ 1 with its interval",
        f"{mean:.4f} ± {error:.4f}; {values.max():.1f}",
        bool(mean + error <= 1),
    )


def loss_row(every: Evidence) -> Row:
    """Return how far the device's evidence is from the float reference."""
    loss = every.reference - every.device
    reached = loss[every.reference >= BITS]
    return Row(
        f"evidence that the device's integers lose, {len(loss):,} epochs with drift, bits: most,"
        f" most where the float reference has {BITS} bits, least",
        "least ≥ 0",
        f"{loss.max():.2f}, {reached.max():.2f} and {loss.min():.2f}",
        bool(loss.min() >= 0),
    )


def rows(short: bool) -> Iterator[Row]:
    """Yield power, evidence lost to integers, and means without drift."""
    rng = np.random.default_rng(22)
    powers, every = power_rows(1_000 if short else 4_000, rng)
    yield from powers
    yield loss_row(every)
    for channels in CHANNELS[:1] if short else CHANNELS:
        yield from calm_rows(10_000 if short else 100_000, channels, rng)


if __name__ == "__main__":
    measure("epoch_power", rows, ("scipy",))
