# SPDX-License-Identifier: Apache-2.0
"""The package for JavaScript: equal decisions, its bytes, its speed beside the host's engine."""

import gzip
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import tcuq
from results.result import Row, figure, measure
from tcuq.demo import FAULTS, demo_profile, demo_stream
from tests.fixtures.javascript import Case, build, differing_columns, random_case, run

MOST_BYTES = 20_000
LEAST_SPEED = 0.7  # of the engine's
PROFILES, SHORT_PROFILES = 100, 3
SPEED_STEPS, ROUNDS = 50_000, 5


def equal_steps(entry: Path, folder: Path, cases: list[Case]) -> tuple[int, int]:
    """Return how many steps were run, and how many of them in traces that differ in no column."""
    messages = run(entry, folder, cases)
    whole = [
        "refused" not in message and not differing_columns(folder, number, case)
        for number, (case, message) in enumerate(zip(cases, messages, strict=True))
    ]
    steps = [len(case.stream) for case in cases]
    return sum(steps), sum(count for count, same in zip(steps, whole, strict=True) if same)


def speeds(entry: Path, folder: Path) -> tuple[float, float]:
    """Return the best steps per second of both, JavaScript and the engine, in turns."""
    stream = demo_stream("test")
    rows = np.arange(SPEED_STEPS) % len(stream)
    assert stream.features is not None  # noqa: S101 - the demo's streams have them
    many = tcuq.Stream(stream.posteriors[rows], stream.features[rows], kind=stream.kind)
    case, profile, both = Case(demo_profile().to_json(), many), demo_profile(), []
    for _ in range(ROUNDS):
        (message,) = run(entry, folder, [case])
        monitor = tcuq.Monitor(profile)
        began = time.perf_counter()
        monitor.run(many)
        both.append((message["steps_per_second"], SPEED_STEPS / (time.perf_counter() - began)))
    ours, engine = (max(side) for side in zip(*both, strict=True))
    return ours, engine


def rows(short: bool) -> Iterator[Row]:
    """Yield what the package holds to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        entry = build(folder / "js")
        recorded = [
            Case(demo_profile().to_json(), demo_stream(stream))
            for stream in ("test", *(f"fault_{fault}" for fault in FAULTS))
        ]
        some = SHORT_PROFILES if short else PROFILES
        for what, cases in (
            ("recorded streams", recorded),
            (f"random steps, {some} profiles of any shape", [random_case(i) for i in range(some)]),
        ):
            steps, same = equal_steps(entry, folder, cases)
            measured = f"{same:,} of {steps:,} steps"
            yield Row(f"wasm32, {what}: equal to the engine", "all", measured, same == steps)
        module = (folder / "js/tcuq.wasm").read_bytes()
        packed = len(gzip.compress(module, 9))
        yield Row(
            "bytes of tcuq.wasm, compressed",
            f"≤ {MOST_BYTES:,}",
            f"{packed:,}",
            packed <= MOST_BYTES,
        )
        yield figure("bytes of tcuq.wasm", f"{len(module):,}")
        ours, engine = speeds(entry, folder)
        yield Row(
            "steps per second in Node over the engine's, same rounds", f"≥ {LEAST_SPEED}",
            f"{ours / engine:.2f} ({ours:,.0f} of {engine:,.0f})", ours / engine >= LEAST_SPEED,
        )  # fmt: skip


if __name__ == "__main__":
    measure("javascript", rows)
