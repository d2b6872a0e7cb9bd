# SPDX-License-Identifier: Apache-2.0
"""Calibrations and calm streams on which the alarm is measured, and the cache of finished cases.

A case is one calibration of one network. Calm streams know the recording of each step, because
counts on looped recordings are not counts of independent steps.
"""

import hashlib
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tcuq
from results.result import ROOT
from tcuq_benchmark.cache import cache_root, write_entry
from tcuq_benchmark.data.identity import data_sha256
from tcuq_benchmark.data.samples import Array
from tcuq_benchmark.detectors.cases import LENGTHS
from tcuq_benchmark.detectors.pools import Pool, Split
from tcuq_benchmark.detectors.recording_pool import FEATURE_NOISE, LOGIT_NOISE, RecordingPool
from tcuq_benchmark.detectors.tasks import make_pool
from tcuq_benchmark.experiments.result import DATA
from tcuq_benchmark.measurements.alarm_hapt import with_health
from tcuq_benchmark.networks.tasks import TASKS
from tcuq_benchmark.networks.zoo import is_trained, load_network
from tcuq_benchmark.scores.monitors import quiet_fit

Ints = NDArray[np.int64]
Figures = dict[str, Any]

DEVELOPMENT = ("mnist", "fashion_mnist", "hapt", "speech", "gas")
CONFIRMATION = ("cifar10", "watch", "tinyimagenet")  # run once, when everything is frozen
NETWORKS = (0, 1, 2)
SEVERE = (4, 0)  # severity 0 is a natural drift
LEVELS = (14, 17, 20)  # one false alarm in 2^h steps
LIBRARIES = ("scikit-learn", "scipy", "torch")
# A change of these sources makes stored figures out of date.
SOURCES = ("src/tcuq/calibrate", "src/tcuq/profile", "src/tcuq/runtime", "src/tcuq/stages")


@dataclass(frozen=True, slots=True)
class Case:
    """One calibration: a network, a random split, and the turn of its calibration length."""

    task: str
    network: int
    split: Split = "parts"
    turn: int = 0
    health: bool = False  # of HAPT alone: the windows of other sets are no sensor's samples

    @property
    def name(self) -> str:
        """Its set, network, split and turn."""
        health = "+health" * self.health
        return f"{self.task}{health} {self.network} {self.split} {self.turn}"

    @property
    def number(self) -> int:
        """The seed of its split and streams."""
        return len(LENGTHS) * self.network + self.turn


@dataclass(frozen=True, eq=False)
class Calm:
    """An in-distribution stream, and the number of the recording that each step is of."""

    stream: tcuq.Stream
    recording: Ints

    def with_health(self) -> "Calm":
        """Return this stream with the input health of HAPT's recordings."""
        stream = with_health(self.stream, self.recording[self.stream.starts])
        return replace(self, stream=stream)


def cases(
    tasks: Sequence[str], splits: Sequence[Split] = ("parts",), *, short: bool = False
) -> Iterator[Case]:
    """Yield every calibration of every trained network; a few of gas in the short form."""
    if short:
        load_network("gas", "base", 0, train=True)
        yield from (Case("gas", 0, turn=turn) for turn in range(2))
        return
    for task in tasks:
        for network in trained(task):
            for split in splits:
                yield from (Case(task, network, split, turn) for turn in range(len(LENGTHS)))


def trained(task: str) -> tuple[int, ...]:
    """Return the seeds whose network is trained; the first must be."""
    load_network(task, "base", 0)
    return tuple(seed for seed in NETWORKS if is_trained(task, "base", seed))


@lru_cache(maxsize=1)
def pool_of(task: str, network: int) -> Pool:
    """Return a network's outputs on calibration and test samples, clean and shifted."""
    log(f"{task}: outputs of network {network}")
    return make_pool(task, load_network(task, "base", network), network)


def calibration(case: Case) -> tcuq.Stream:
    """Return the stream to calibrate on."""
    pool = pool_of(case.task, case.network)
    rows, _ = pool.split(case.split, case.number)
    stream = pool.calibration(rows, LENGTHS[case.turn], 2 * case.number)
    return with_health(stream, rows) if case.health else stream


def calm(case: Case, steps: int, seed: int) -> Calm:
    """Return calm steps of the samples or recordings that were not calibrated on."""
    pool = pool_of(case.task, case.network)
    _, rows = pool.split(case.split, case.number)
    if isinstance(pool, RecordingPool):
        run = looped(pool, rows, steps, seed)
        return run.with_health() if case.health else run
    stream = pool.in_distribution(rows, steps, seed)
    return Calm(stream, np.zeros(steps, np.int64))


def looped(
    pool: RecordingPool,
    rows: Ints,
    steps: int,
    seed: int,
    outputs: Sequence[Mapping[str, Array]] | None = None,
) -> Calm:
    """Return recordings in random order with a little noise, repeated; the last is truncated.

    `outputs` replaces the clean ones, in the same order and with the same noise.
    """
    outputs = pool.clean if outputs is None else outputs
    rng = np.random.default_rng([seed, 9])
    scale = FEATURE_NOISE * max(float(np.abs(pool.clean[i]["features"]).max()) for i in rows)
    order: list[int] = []
    lengths: list[int] = []
    while sum(lengths) < steps:
        order += rng.permutation(rows).tolist()
        lengths = [len(outputs[i]["logits"]) for i in order]
    logits = np.concatenate([outputs[i]["logits"] for i in order])[:steps]
    features = np.concatenate([outputs[i]["features"] for i in order])[:steps]
    starts = np.cumsum([0, *lengths[:-1]])
    stream = tcuq.Stream(
        logits + LOGIT_NOISE * rng.normal(size=logits.shape),
        features + scale * rng.normal(size=features.shape),
        kind="logits",
        starts=starts[starts < steps],
    )
    return Calm(stream, np.repeat(order, lengths)[:steps])


def fitted(stream: tcuq.Stream, h: int = LEVELS[-1]) -> tcuq.Profile:
    """Return the recommended profile for one false alarm in 2^h steps."""
    return quiet_fit(stream, alarm=tcuq.AlarmOptions(1 << h))


def profiles(stream: tcuq.Stream) -> dict[int, tcuq.Profile]:
    """Return the recommended profile for each rate; only the alarm's limit depends on it."""
    profile = fitted(stream)
    assert profile.alarm is not None  # noqa: S101 - recommended profiles have an alarm
    return {
        h: replace(profile, alarm=replace(profile.alarm, steps_per_false_alarm=1 << h))
        for h in LEVELS
    }


def saved(compute: Callable[..., Figures], case: Case, *settings: object) -> Figures:
    """Return compute(case, *settings), from the cache if the same code computed it before."""
    what, code = compute.__name__, code_sha256(Path(inspect.getfile(compute)))
    identity = {"case": case, "what": what, "settings": settings, "code": code}
    text = json.dumps(identity, sort_keys=True, default=asdict)
    name = hashlib.sha256(text.encode()).hexdigest()[:24]
    at = cache_root() / "alarm" / f"{what}-{case.task}-{name}.json"
    if not at.is_file():
        log(f"{what}: {case.name}")
        with write_entry(at) as file:
            file.write(json.dumps(compute(case, *settings)).encode())
    figures: Figures = json.loads(at.read_text("utf-8"))
    return figures


@cache
def code_sha256(module: Path) -> str:
    """Hash of the sources of the library, of the cases and of the measurement's module."""
    files = [file for folder in SOURCES for file in (ROOT / folder).rglob("*.*")]
    files = [file for file in files if file.suffix in {".py", ".c", ".h"}]
    digest = hashlib.sha256()
    for file in [*sorted(files), ROOT / "src/tcuq/monitor.py", Path(__file__), module]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def provenance(tasks: Sequence[str]) -> Mapping[str, object]:
    """Return checksums of the data and networks behind a result."""
    tasks = [task for task in TASKS if task in tasks]
    names = sorted({name for task in tasks for name in DATA[task]})
    return {
        "data_sha256": {name: data_sha256(name) for name in names},
        "networks_sha256": {
            f"{task}-{seed}": load_network(task, "base", seed).sha256
            for task in tasks
            for seed in trained(task)
        },
    }


def log(line: str) -> None:
    """Write a line of progress to standard error."""
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)
