# SPDX-License-Identifier: Apache-2.0
"""Replay: rate beside the bare C loop and the bare Spark job, ten profiles at once, memory, faults.

10 classes, 32 features, the `tcuq` score, as device bytes in chunks of 1,000 steps. Ratios are
medians over pairs that were run in turns.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import numpy as np

import tcuq
from results.result import (
    RESULTS,
    ROOT,
    Row,
    exit_code,
    figure,
    parser,
    show,
    today,
    tool_version,
    write_rows,
)
from tcuq.errors import CalibrationWarning
from tcuq.monitor import Monitor
from tcuq.replay import ChunkWriter, Layout, replay_files
from tests.fixtures.conformance import probabilities_of
from tests.fixtures.spark_cluster import submit
from tools.measurements.device import bare_loop
from tools.measurements.speed import stream

THREADS = 2
STREAM_STEPS = 100_000
GIGABYTE = 24_000_000  # steps of 42 bytes
LARGE = 4  # gigabytes for the rate: what a run does once (three files synced) then weighs little
PARTS = ("local", "ten", "spark", "memory", "tests")
TESTS = {
    "replayed whole streams, in any batches, equal to Monitor.run": "device_monitor",
    "results by one thread and by several": "threads_give",
    "results on Spark by path and by Arrow, and after a shuffle": "routes_give or brought_together",
    "results on a Spark master after a worker was killed, on both routes": "killed_in_mid_job",
    "results after ten kills of a replay, each resumed": "killed_at_ten",
    "a damaged row group: named, the rest done; on Spark's Arrow route named": "damaged_row_group",
    "a truncated file: named, on both routes of Spark": "truncated_file",
    "the how-to alone: a folder of .npz to a comparison of three profiles": "how_to",
}


def labelled(steps: int, seed: int) -> tcuq.Stream:
    """Return the stream of speed.py as probabilities; its second half is shifted."""
    recorded = stream(steps, seed)
    shifted = np.arange(steps) > steps // 2
    noise = np.random.default_rng(seed).normal(0, 2, (steps, 32)) * shifted[:, None]
    means = np.random.default_rng(0).normal(size=(10, 32)) * 2
    features = np.asarray(recorded.features) + noise
    posteriors = probabilities_of(0.15 * features @ means.T)
    return tcuq.Stream(posteriors, features, recorded.labels, shifted=shifted)


def fitted(count: int) -> dict[str, tcuq.Profile]:
    """Return the paper's profile at so many levels of alpha."""
    calibration, development = stream(20_000, 1), labelled(20_000, 5)
    usual = tcuq.Stream(probabilities_of(calibration.posteriors), calibration.features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return {
            f"{number}.json": tcuq.fit(
                usual, development, preset="paper", alpha=0.05 + 0.01 * number
            )
            for number in range(count)
        }


def quantised(profile: tcuq.Profile) -> tuple[np.ndarray, np.ndarray]:
    """Return the device's bytes of a stream that the archive is cut from."""
    recorded = stream(4 * STREAM_STEPS, 2)
    rows = probabilities_of(recorded.posteriors)
    posteriors, features = Monitor(profile).quantize(rows, recorded.features)
    assert features is not None  # noqa: S101 - 32 of them
    return posteriors, features


def write_archive(folder: Path, profile: tcuq.Profile, steps: int, files: int) -> Path:
    """Write an archive of so many steps in chunks."""
    rows, features = quantised(profile)
    columns = {"posteriors": ("|u1", 10), "features": ("|i1", 32)}
    scale = profile.inputs.feature_scale or 1.0
    layout = Layout("probabilities", columns, 1 / 256, scale)
    rng = np.random.default_rng(3)
    folder.mkdir()
    for number in range(files):
        with ChunkWriter(folder / f"{number:03d}.parquet", layout) as writer:
            for name in range(steps // files // STREAM_STEPS):
                at = int(rng.integers(0, 3 * STREAM_STEPS))
                part = slice(at, at + STREAM_STEPS)
                values = {"posteriors": rows[part], "features": features[part]}
                writer.add(f"{number:03d}-{name:05d}", 0, values)
    return folder


def seconds(call: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of one call, by the clock and of this process's CPU."""
    begun, used = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - begun, time.process_time() - used


def bare_threads(profile: tcuq.Profile, steps: int, folder: Path) -> Callable[[], object]:
    """Return a call of the bare C loop over as many steps, one copy of it per thread."""
    rows, features = quantised(profile)
    loops = []
    for number in range(THREADS):
        (folder / str(number)).mkdir()
        loops.append(bare_loop(profile, rows, features, folder / str(number)))
    rounds = steps // THREADS // len(rows)

    def call() -> object:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(lambda loop: [loop() for _ in range(rounds)], loops))

    return call


def local_rows(folder: Path, archive: Path, steps: int, pairs: int) -> Iterator[Row]:
    """Yield the rate of two threads, and beside the bare loop on two threads."""
    profiles = fitted(1)
    bare = bare_threads(profiles["0.json"], steps, folder)

    def replayed() -> None:
        shutil.rmtree(folder / "run", ignore_errors=True)
        replay_files(profiles, [archive], folder / "run", threads=THREADS)

    times = [(seconds(replayed), seconds(bare)) for _ in range(pairs)]
    rate = steps / statistics.median(ours for (ours, _), _ in times)
    best = steps / min(ours for (ours, _), _ in times)
    share = statistics.median(theirs / ours for (ours, _), (theirs, _) in times)
    by_cpu = statistics.median(theirs / ours for (_, ours), (_, theirs) in times)
    yield Row(
        f"local, {THREADS} threads, steps per second, median and best of {pairs}",
        "≥ 6,000,000",
        f"{rate:,.0f} and {best:,.0f}",
        rate >= 6e6,
    )
    yield Row(
        f"as a share of the bare C loop on as many threads, median of {pairs} pairs",
        "≥ 0.80, aim 0.90",
        f"{share:.2f} (of CPU time {by_cpu:.2f})",
        share >= 0.8,
    )


def ten_rows(folder: Path, archive: Path, pairs: int) -> Iterator[Row]:
    """Yield the time of ten profiles in one pass beside ten passes."""
    profiles = fitted(10)

    def passes(groups: list[dict[str, tcuq.Profile]]) -> None:
        for number, group in enumerate(groups):
            shutil.rmtree(folder / f"ten{number}", ignore_errors=True)
            replay_files(group, [archive], folder / f"ten{number}", threads=THREADS)

    apart = [{name: profile} for name, profile in profiles.items()]
    ratios = [
        seconds(lambda: passes([profiles]))[0] / seconds(lambda: passes(apart))[0]
        for _ in range(pairs)
    ]
    share = statistics.median(ratios)
    yield Row(
        f"ten profiles in one pass, as a share of ten passes, median of {pairs} pairs",
        "≤ 0.8, aim 0.4",
        f"{share:.2f}",
        share <= 0.8,
    )


def spark_rows(folder: Path, archive: Path, steps: int, pairs: int) -> Iterator[Row]:
    """Yield the rate of Spark local[2] by path, beside the bare loop and a bare job."""
    script = Path(__file__).with_name("replay_spark.py")
    words = (archive, folder / "out", folder / "profile.json", pairs, steps)
    conf = ("spark.driver.memory=2g", "spark.sql.files.maxPartitionBytes=64m")
    with submit("local[2]", script, *words, conf=conf, log=folder / "spark.log") as process:
        output, _ = process.communicate()
    if process.returncode:
        sys.exit((folder / "spark.log").read_text("utf-8")[-3000:])
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    times = {(line["pair"], line["job"]): line["seconds"] for line in lines}
    measured_pairs = range(1, pairs + 1)  # the first warms up
    rate = steps / statistics.median(times[n, "path"] for n in measured_pairs)
    best = steps / min(times[n, "path"] for n in measured_pairs)
    shares = {
        other: statistics.median(times[n, other] / times[n, "path"] for n in measured_pairs)
        for other in ("loop", "bare", "arrow")
    }
    yield Row(
        f"Spark local[2] by path, steps per second, median and best of {pairs}",
        "≥ 3,000,000",
        f"{rate:,.0f} and {best:,.0f}",
        rate >= 3e6,
    )
    yield Row(
        f"by path as a share of the bare C loop on two threads, median of {pairs} pairs",
        "≥ 0.75, aim 0.85; or ≥ 6,500,000 steps per second",
        f"{shares['loop']:.2f}",
        shares["loop"] >= 0.75 or rate >= 6.5e6,
    )
    yield Row(
        f"by path as a share of the bare Spark job, median of {pairs} pairs",
        "≥ 0.80, aim 0.85",
        f"{shares['bare']:.2f}",
        shares["bare"] >= 0.8,
    )
    yield figure(
        f"by path, times as fast as the Arrow route, median of {pairs} pairs",
        f"{shares['arrow']:.2f}",
    )


def peak_bytes(folder: Path, archive: Path) -> int:
    """Return the largest resident size of `tcuq replay` in a process of its own.

    By VmHWM: the ru_maxrss of a new program starts at the size of the one that started it.
    """
    code = (
        "import sys; from tcuq.cli import main; main(sys.argv[1:]);"
        " print(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])"
    )
    out = folder / f"memory-{archive.name}"
    command = [sys.executable, "-c", code, "replay", str(folder / "profile.json"), str(archive)]
    done = subprocess.run(
        [*command, "-o", str(out), "--threads", str(THREADS)],
        capture_output=True,
        text=True,
        check=True,
    )
    return 1024 * int(done.stdout.split()[-1])


def link_copies(folder: Path, archive: Path, times: int) -> Path:
    """Link the same files under other names, so many times."""
    folder.mkdir()
    for number in range(times):
        for path in sorted(archive.iterdir()):
            os.link(path, folder / f"{number:03d}-{path.name}")
    return folder


def memory_row(folder: Path, archive: Path, times: int) -> Row:
    """Compare the memory for one gigabyte with that for many."""
    many = link_copies(folder / "many", archive, times)
    one, large = peak_bytes(folder, archive), peak_bytes(folder, many)
    return Row(
        f"peak resident bytes on 1 GB and on {times} GB of steps",
        "within 1.2 times",
        f"{one / 1e6:,.0f} MB and {large / 1e6:,.0f} MB, {large / one:.2f} times",
        large <= 1.2 * one,
    )


def test_rows() -> Iterator[Row]:
    """What tests hold to, each run now."""
    for what, name in TESTS.items():
        command = [sys.executable, "-m", "pytest", "-q", "tests/replay", "-k", name]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        summary = done.stdout.strip().splitlines()[-1].split(" in ")[0].strip("= ")
        yield Row(what, "tests pass", summary, done.returncode == 0)


def part_rows(part: str, *, short: bool, gigabytes: int) -> Iterator[Row]:
    """Yield the rows of one part, measured in a folder of its own."""
    pairs = 3 if short else 7
    steps = GIGABYTE // 8 if short else GIGABYTE
    if part == "tests":
        yield from test_rows()
        return
    with tempfile.TemporaryDirectory() as name:
        folder, profile = Path(name), fitted(1)["0.json"]
        profile.save(folder / "profile.json")
        size, files = (steps // 8, 1) if part == "ten" else (steps, 3)
        archive = write_archive(folder / "archive", profile, size, files)
        if part == "ten":
            yield from ten_rows(folder, archive, pairs)
        elif part == "memory":
            yield memory_row(folder, archive, 2 if short else 20)
        else:
            large = link_copies(folder / "large", archive, gigabytes)
            rates = local_rows if part == "local" else spark_rows
            yield from rates(folder, large, gigabytes * steps, pairs)


def main() -> None:
    """Measure some parts, or all, and report them with the committed rows of the others."""
    options = parser(__doc__)
    options.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    options.add_argument("--gigabytes", type=int, default=LARGE, help="of steps, for the rates")
    args = options.parse_args()
    path = RESULTS / "replay.json"
    by_part = json.loads(path.read_text("utf-8"))["by_part"] if path.is_file() else {}
    for part in args.parts or PARTS:
        load = os.getloadavg()[0]  # of others, before the part begins
        rows = part_rows(part, short=args.short, gigabytes=args.gigabytes)
        by_part[part] = {
            "rows": [asdict(show(row)) for row in rows],
            "date": today(),
            "load_before": round(load, 1),
            "gigabytes": args.gigabytes,
        }
    every = [Row(**row) for part in PARTS if part in by_part for row in by_part[part]["rows"]]
    if args.write:
        tools, libraries = {"java": tool_version("java")}, ("pyarrow", "pyspark")
        write_rows("replay", every, libraries, tools, {"by_part": by_part})
    sys.exit(exit_code(every))


if __name__ == "__main__":
    main()
