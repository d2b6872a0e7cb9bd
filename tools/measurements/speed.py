# SPDX-License-Identifier: Apache-2.0
"""Speed and memory of the float reference: 10 classes, 32 features, one core."""

import gc
import statistics
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence

import numpy as np

import tcuq
from tools.measurements.result import Row, arguments, report

STEPS = 100_000


def stream(steps: int, seed: int) -> tcuq.Stream:
    """Ten classes of dwell 20 and 32 features, autocorrelated."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(0).normal(size=(10, 32)) * 2
    labels = np.repeat(rng.integers(0, 10, steps // 20 + 1), 20)[:steps]
    features = means[labels] + rng.normal(size=(steps, 32))
    logits = 0.15 * features @ means.T
    return tcuq.Stream(logits, features, labels, kind="logits")


def run_rate(profile: tcuq.Profile, recorded: tcuq.Stream) -> float:
    """Steps per second of CPU time, median of five runs."""
    rates = []
    for _ in range(5):
        monitor, begun = tcuq.Monitor(profile), time.process_time()
        monitor.run(recorded.posteriors, recorded.features)
        rates.append(len(recorded) / (time.process_time() - begun))
    return statistics.median(rates)


def step_us(profile: tcuq.Profile, recorded: tcuq.Stream) -> float:
    """Microseconds of CPU time a step, over 2,000 steps."""
    assert recorded.features is not None  # noqa: S101 - made above
    monitor, begun = tcuq.Monitor(profile), time.process_time()
    for posterior, features in zip(recorded.posteriors[:2000], recorded.features, strict=False):
        monitor.step(posterior, features)
    return 1e6 * (time.process_time() - begun) / 2000


def held_bytes(
    monitor: Callable[[], tcuq.Monitor],
    recorded: tcuq.Stream,
    marks: Sequence[int],
) -> list[int]:
    """Bytes that a monitor holds after each of these numbers of steps."""
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


def main() -> None:
    """Measure and report."""
    args = arguments()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcuq.CalibrationWarning)
        profile = tcuq.fit(stream(20_000, seed=1))
    recorded = stream(STEPS, seed=2)
    rate, micros = run_rate(profile, recorded), step_us(profile, recorded)
    late_steps = 200_000 if args.short else 1_000_000
    early, late = held_bytes(lambda: tcuq.Monitor(profile), recorded, (1000, late_steps))
    rows = [
        Row(
            "run, recommended profile, steps a second", "≥ 200,000", f"{rate:,.0f}", rate >= 200_000
        ),
        Row("step, one at a time, µs", "stated", f"{micros:.0f}", None),
        Row(
            f"bytes a monitor holds after 1,000 and {late_steps:,} steps",
            "equal within 1 %",
            f"{early:,} and {late:,}",
            abs(late - early) <= 0.01 * early,
        ),
    ]
    sys.exit(report("speed", rows, (), write=args.write))


if __name__ == "__main__":
    main()
