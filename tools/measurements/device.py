# SPDX-License-Identifier: Apache-2.0
"""The C runtime on the host: speed beside the bare C loop and river, memory, quality, exactness."""

import ctypes
import hashlib
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.drift import ADWIN

import tcuq
from results.result import Row, figure, measure
from tcuq.demo import demo_profile, demo_stream
from tcuq.monitor import Monitor, run_many
from tcuq.profile.quantize import quantize
from tests.fixtures.conformance import (
    BOUNDS,
    PRESETS,
    RECORDED,
    bounds,
    decision_differences,
    probabilities_of,
    qualities,
    quiet_fit,
    random_stream,
    recorded_profile,
    signal_differences,
)
from tests.fixtures.firmware.export import write_c
from tests.fixtures.firmware.toolchain import HERE as FIRMWARE
from tests.fixtures.firmware.toolchain import RUNTIME
from tests.fixtures.power_cut import refused_snapshots, survived_cuts
from tools.measurements.speed import memory_row, stream

STEPS = 20_000
ONE_BY_ONE = 5_000
THREADS = 2
FLAGS = ("-std=c99", "-O3", "-DNDEBUG", "-fPIC", "-shared")  # as CMakeLists.txt builds the engine


def best_seconds(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the shortest time of each call, in turns: other load hits all alike."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            begun = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - begun)
    return best


def bare_loop(
    profile: tcuq.Profile, rows: NDArray[np.uint8], features: NDArray[np.int8], folder: Path
) -> Callable[[], object]:
    """Return a call of the runtime's own C loop over these steps."""
    monitor, library = folder / "monitor.c", folder / "bare.so"
    monitor.write_text(write_c(quantize(profile), telemetry=True), "utf-8")
    sources = [Path(__file__).with_name("bare.c"), monitor, *sorted(RUNTIME.glob("*.c"))]
    subprocess.run(
        ["cc", *FLAGS, f"-I{RUNTIME}", f"-I{FIRMWARE}", *sources, "-o", library], check=True
    )
    loaded = ctypes.CDLL(str(library))
    run, size = loaded.bare_run, ctypes.c_size_t.in_dll(loaded, "bare_decision_bytes").value
    decisions = np.zeros(len(rows) * size, np.uint8)
    arrays = [ctypes.c_void_p(array.ctypes.data) for array in (rows, features, decisions)]

    def call() -> object:
        return run(arrays[0], arrays[1], ctypes.c_size_t(len(rows)), arrays[2]), decisions, features

    return call


def one_by_one(monitor: Monitor, steps: Iterable[tuple[Any, Any]]) -> Callable[[], object]:
    """Return a call that steps through these."""
    first = list(steps)[:ONE_BY_ONE]

    def call() -> None:
        step = monitor.step
        for posterior, features in first:
            step(posterior, features)

    return call


def detect(detectors: int, values: list[float]) -> Callable[[], object]:
    """Return a call that updates so many of river's detectors with every value."""
    make: Callable[[], Any] = ADWIN
    updates = [make().update for _ in range(detectors)]

    def call() -> None:
        for value in values:
            for update in updates:
                update(value)

    return call


def speed_rows(rounds: int, folder: Path) -> Iterator[Row]:
    """Run and step: 10 classes, 32 features, the recommended profile; the best of the rounds."""
    calibration, recorded = stream(20_000, seed=1), stream(STEPS, seed=2)
    logits, wide = recorded.posteriors, np.asarray(recorded.features)
    shares = probabilities_of(logits)
    rows_32, wide_32, logits_32 = (a.astype(np.float32) for a in (shares, wide, logits))
    of_logits = quiet_fit(calibration)
    profile = quiet_fit(tcuq.Stream(probabilities_of(calibration.posteriors), calibration.features))
    monitor, other = Monitor(profile), Monitor(of_logits)
    rows, features = monitor.quantize(rows_32, wide_32)
    assert features is not None  # noqa: S101 - 32 of them
    risk = monitor.run(rows, features).risk[:ONE_BY_ONE].tolist()
    best = best_seconds(
        {
            "bare": bare_loop(profile, rows, features, folder),
            "bytes": lambda: monitor.run(rows, features),
            "float32": lambda: monitor.run(rows_32, wide_32),
            "float64": lambda: monitor.run(shares, wide),
            "logits": lambda: other.run(logits_32, wide_32),
            "step": one_by_one(monitor, zip(rows_32, wide_32, strict=True)),
            "step of bytes": one_by_one(monitor, zip(rows, features, strict=True)),
            "step of logits": one_by_one(other, zip(logits_32, wide_32, strict=True)),
            "ADWIN": detect(1, risk),
            "ten": detect(10, risk),
        },
        rounds,
    )
    rate = {name: STEPS / seconds for name, seconds in best.items()}
    micros = {name: 1e6 * seconds / ONE_BY_ONE for name, seconds in best.items()}
    share = best["bare"] / best["bytes"]
    yield Row(
        "run from float32 probabilities, steps per second",
        "≥ 1,000,000",
        f"{rate['float32']:,.0f}",
        rate["float32"] >= 1_000_000,
    )
    yield figure(
        "run from float64 probabilities, and from float32 logits, steps per second",
        f"{rate['float64']:,.0f} and {rate['logits']:,.0f}",
    )
    yield Row(
        "run from the device's bytes, as a share of the bare C loop in the same rounds",
        "≥ 0.6",
        f"{share:.2f} ({rate['bytes']:,.0f} of {rate['bare']:,.0f} steps per second)",
        share >= 0.6,
    )
    yield Row(
        "step, one at a time, from float32, µs", "≤ 3", f"{micros['step']:.2f}", micros["step"] <= 3
    )
    yield figure(
        "step from the device's bytes, and from float32 logits, µs",
        f"{micros['step of bytes']:.2f} and {micros['step of logits']:.2f}",
    )
    yield figure(
        "river's ADWIN.update, and ten of them, µs",
        f"{micros['ADWIN']:.2f} and {micros['ten']:.2f}",
    )
    yield many_row(profile, tcuq.Stream(rows_32, wide_32), 5 * rounds)
    yield memory_row(profile, tcuq.Stream(rows_32, wide_32), 1_000_000 if rounds > 20 else 200_000)


def many_row(profile: tcuq.Profile, recorded: tcuq.Stream, rounds: int) -> Row:
    """Compare one stream per thread with all in one; hashing shows what is possible."""
    streams, noise = [recorded[: STEPS // 2]] * THREADS, [bytes(7_000_000)] * THREADS
    monitors = [Monitor(profile) for _ in streams]

    def hashed(threads: int) -> object:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(hashlib.sha256, noise))

    best = best_seconds(
        {
            "one": lambda: run_many(monitors, streams, threads=1),
            "all": lambda: run_many(monitors, streams, threads=THREADS),
            "one, hashed": lambda: hashed(1),
            "all, hashed": lambda: hashed(THREADS),
        },
        rounds,
    )
    possible = best["one, hashed"] / best["all, hashed"]
    return figure(
        f"{THREADS} streams in {THREADS} threads, times as fast as in one",
        f"{best['one'] / best['all']:.2f} (hashing, which shares nothing: {possible:.2f})",
    )


def quality_rows() -> Iterator[Row]:
    """Yield the risk's quality on the recorded stream, in float and in integers."""
    for preset in PRESETS:
        quality = qualities(recorded_profile(preset), demo_stream("development"))
        for name, (reference, device) in quality.items():
            apart = abs(device - reference)
            yield Row(
                f"{name} of failures, {preset} profile, device against float path",
                "within 0.005",
                f"{device:.4f} against {reference:.4f}, {apart:.4f} apart",
                apart <= 0.005,
            )


def exactness_rows() -> Iterator[Row]:
    """Yield each stage's largest difference from the float reference on the same bytes."""
    profile, random_profile = recorded_profile(), quiet_fit(random_stream(10, 32, 5000, seed=1))
    recorded = [demo_stream(name) for name in RECORDED]
    random = [random_stream(10, 32, 20_000, seed=seed) for seed in (2, 3)]
    cases = ((profile, recorded), (random_profile, random))
    signals = [_worst(signal_differences, *case) for case in cases]
    later = [_worst(decision_differences, *case) for case in cases]
    for name in BOUNDS:
        limits = [bounds(profile)[name], bounds(random_profile)[name]]
        yield Row(
            f"largest difference of {name.replace('_', ' ')}, recorded and random streams",
            "≤ " + " and ".join(dict.fromkeys(f"{limit:.2g}" for limit in limits)),
            " and ".join(f"{worst[name]:.2g}" for worst in signals),
            all(worst[name] <= limit for worst, limit in zip(signals, limits, strict=True)),
        )
    yield figure(
        "largest difference of the risk, on the device's own signals, recorded and random streams",
        " and ".join(f"{worst['score']:.2g}" for worst in later),
    )
    differ = [worst["label"] for worst in signals]
    differ += [worst[name] for worst in later for name in ("threshold", "budget", "alarm")]
    yield Row(
        "steps whose label, threshold, outcome or alarm differs, recorded and random streams",
        "none",
        f"{'some' if any(differ) else 'none'} of {sum(map(len, recorded + random)):,}",
        not any(differ),
    )


def _worst(
    differences: Callable[[tcuq.Profile, tcuq.Stream], dict[str, float]],
    profile: tcuq.Profile,
    streams: list[tcuq.Stream],
) -> dict[str, float]:
    results = [differences(profile, one) for one in streams]
    return {name: max(one[name] for one in results) for name in results[0]}


def power_rows(cuts: int, damages: int) -> Iterator[Row]:
    """Yield whether state survives power cuts and refuses damage."""
    recorded = demo_stream("fault_clipping")
    survived = survived_cuts(demo_profile(), recorded, cuts, seed=0)
    yield Row(
        f"power cuts at {cuts:,} random steps after which all decisions are as without them",
        "all",
        f"{survived:,}",
        survived == cuts,
    )
    monitor = Monitor(demo_profile())
    monitor.run(recorded[:1000])
    refused = refused_snapshots(monitor, damages, seed=0)
    yield Row(
        f"damaged or foreign snapshots of {damages:,} that are refused and change nothing",
        "all",
        f"{refused:,}",
        refused == damages,
    )


def rows(short: bool) -> Iterator[Row]:
    """Yield speed, quality, exactness and what power cuts do."""
    with tempfile.TemporaryDirectory() as folder:
        yield from speed_rows(8 if short else 60, Path(folder))
    yield from quality_rows()
    yield from exactness_rows()
    yield from power_rows(*((100, 10_000) if short else (1000, 100_000)))


if __name__ == "__main__":
    measure("device", rows, ("river", "scikit-learn"), tools=("cc",))
