# SPDX-License-Identifier: Apache-2.0
"""Speed and memory of the monitor: 10 classes, 32 features, float32 probabilities, one core."""

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence

import numpy as np

import tcuq
from results.result import Row, measure
from tests.fixtures.conformance import quiet_fit

STEPS = 100_000


def stream(steps: int, seed: int) -> tcuq.Stream:
    """Return an autocorrelated stream of ten classes and 32 features; classes stay 20 steps."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(0).normal(size=(10, 32)) * 2
    labels = np.repeat(rng.integers(0, 10, steps // 20 + 1), 20)[:steps]
    features = means[labels] + rng.normal(size=(steps, 32))
    logits = 0.15 * features @ means.T
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return tcuq.Stream(shares.astype(np.float32), features.astype(np.float32), labels)


def run_rate(profile: tcuq.Profile, recorded: tcuq.Stream) -> float:
    """Return steps per second of CPU time, the best of 40 runs: other load only slows it."""
    rates = []
    for _ in range(40):
        monitor, begun = tcuq.Monitor(profile), time.process_time()
        monitor.run(recorded.posteriors, recorded.features)
        rates.append(len(recorded) / (time.process_time() - begun))
    return max(rates)


def step_us(profile: tcuq.Profile, recorded: tcuq.Stream) -> float:
    """Return the microseconds of CPU time per step, the best of seven times 10,000 steps."""
    assert recorded.features is not None  # noqa: S101 - made above
    steps = list(zip(recorded.posteriors[:10_000], recorded.features[:10_000], strict=True))
    best, step = float("inf"), tcuq.Monitor(profile).step
    for _ in range(7):
        begun = time.process_time()
        for posterior, features in steps:
            step(posterior, features)
        best = min(best, 1e6 * (time.process_time() - begun) / len(steps))
    return best


def held_bytes(
    monitor: Callable[[], tcuq.Monitor], recorded: tcuq.Stream, marks: Sequence[int]
) -> list[int]:
    """Return the bytes that a monitor holds after each of these numbers of steps."""
    tracemalloc.start()
    instance, done, sizes = monitor(), 0, []
    for mark in marks:
        while done < mark:
            steps = min(len(recorded), mark - done)
            instance.run(recorded.posteriors[:steps], recorded.features[:steps])  # type: ignore[index]
            done += steps
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    return sizes


def memory_row(profile: tcuq.Profile, recorded: tcuq.Stream, steps: int) -> Row:
    """Return whether what a monitor holds stays the same."""
    early, late = held_bytes(lambda: tcuq.Monitor(profile), recorded, (1000, steps))
    return Row(
        f"bytes a monitor holds after 1,000 and {steps:,} steps",
        "equal within 1 %",
        f"{early:,} and {late:,}",
        abs(late - early) <= 0.01 * early,
    )


def rows(short: bool) -> Iterator[Row]:
    """Yield steps per second, microseconds per step and bytes."""
    profile, recorded = quiet_fit(stream(20_000, seed=1)), stream(STEPS, seed=2)
    rate, micros = run_rate(profile, recorded), step_us(profile, recorded)
    yield Row("run, recommended profile, steps per second", "≥ 2 M", f"{rate:,.0f}", rate >= 2e6)
    yield Row("step, one at a time, µs", "≤ 1.5", f"{micros:.2f}", micros <= 1.5)
    yield memory_row(profile, recorded, 200_000 if short else 1_000_000)


if __name__ == "__main__":
    measure("speed", rows)
