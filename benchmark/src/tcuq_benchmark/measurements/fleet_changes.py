# SPDX-License-Identifier: Apache-2.0
"""The verdict "changed" on fleets of real people: false discoveries, and sensor faults found.

Each device is a person whom neither the network nor the calibration met. An epoch is 600 steps of a
session of the person's, drawn in blocks of 20 consecutive steps and run through a monitor, whose
record the fleet's judge takes. A device has three past epochs; its fourth is judged among calm
devices that were as old in earlier epochs. HAPT's sensors get faults; the judge's code is the
product's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tcuq
from results.result import Row, measure
from tcuq.telemetry import MEANS, decode
from tcuq_benchmark.data import hapt
from tcuq_benchmark.data.samples import Recording
from tcuq_benchmark.detectors.pools import SamplePool, outputs_of_samples
from tcuq_benchmark.detectors.recording_pool import FEATURE_NOISE, LOGIT_NOISE, RecordingPool
from tcuq_benchmark.measurements.alarm_cases import (
    LIBRARIES,
    fitted,
    log,
    pool_of,
    provenance,
    trained,
)
from tcuq_benchmark.measurements.alarm_hapt import NOISE, health_of
from tcuq_benchmark.measurements.fleet_sessions import LEVEL, SPEAKER_STEPS, joined, struck_row
from tcuq_benchmark.networks.zoo import load_network
from tcuq_benchmark.recordings import windows
from tcuq_fleet.judge.change import BUCKETS, NAMES, change_bits_q8, rise_buckets
from tcuq_fleet.judge.change_state import CLOSED, PEER, STATE, calm_rows, folded, scored
from tcuq_fleet.judge.ebh import discover

Array = NDArray[Any]
Rng = np.random.Generator

DEVICES, FAULTY = 2000, 0.02
STEPS, DUTY_STEPS, BLOCK = 600, 160, 20
PAST_EPOCHS = 3
REFERENCE = 3  # fleets as large, whose calm scores are the reference
EPOCHS, FAULT_EPOCHS = 80, 30  # drawn of each session
FLEETS, SHORT_FLEETS = 102, 4  # without a fault
FAULT_FLEETS = 21
CALIBRATED = 0.4  # share of the people
SETS = {"hapt+health": "hapt", "hapt": "hapt", "watch": "watch", "speech": "speech"}
CONSTRUCTIONS = {
    "one": "one session",
    "two": "past of one session, now of another",
    "mixture": "each epoch of either session",
    "repeated": "a session repeated, now another",
    "duty": "either session, half of the devices on for a quarter of the time",
}
# The least share found after one epoch of another session; strong noise is stated.
FAULTS = {"noise": 0.9, "strong noise": None, "gain": 0.6, "gyroscope dead": 0.35}
NOISES = {"noise": 1.0, "strong noise": 1.5}  # of HAPT's published faults
GAIN = 1.5


@dataclass(frozen=True, eq=False)
class Session:
    """A network's outputs on one session of a person; health if the sensor has it."""

    person: int
    half: int
    outputs: Mapping[str, tuple[Array, ...]]  # clean and of each fault: logits, features, health


Epochs = dict[tuple[int, int, str], Array]  # by person, session and kind: one row per epoch


def with_fault(signal: Array, fault: str, rng: Rng) -> Array:
    """Return samples of accelerometer and gyroscope with a fault."""
    if fault in NOISES:
        return np.asarray(signal + NOISES[fault] * NOISE * rng.normal(size=signal.shape))
    if fault == "gain":
        return signal * GAIN
    return signal * ([1, 1, 1, 0, 0, 0] if fault == "gyroscope dead" else 1)


def hapt_sessions(network: int, faults: Sequence[str], *, health: bool) -> list[Session]:
    """Return the two sessions of each person, clean and with faults."""
    parts = hapt.load()
    recordings = [*parts["calibration"], *parts["test"]]
    rng = np.random.default_rng([network, 31])
    by_fault = {}
    for fault in ("clean", *faults):
        faulty = [
            Recording(
                one.name,
                one.person,
                with_fault(one.signal, fault, rng).astype(np.float32),
                one.label,
            )
            for one in recordings
        ]
        cut = windows(faulty, hapt.CLASSES)
        outputs = outputs_of_samples(load_network("hapt", "base", network), cut.samples)
        columns = [outputs["logits"], outputs["features"]]
        columns += [health_of(cut.samples.x).values] if health else []
        bounds = pairwise([*cut.starts.tolist(), len(cut.samples)])
        by_fault[fault] = [tuple(column[a:b] for column in columns) for a, b in bounds]
    halves: dict[int, int] = {}
    sessions = []
    for number, one in enumerate(recordings):
        half = halves[one.person] = halves.get(one.person, -1) + 1
        if half < 2:
            outputs_of = {fault: rows[number] for fault, rows in by_fault.items()}
            sessions.append(Session(one.person, half, outputs_of))
    return sessions


def pool_sessions(task: str, network: int) -> list[Session]:
    """Return two sessions of each person: the series of either arm, or either half of the clips."""
    pool = pool_of(task, network)
    if isinstance(pool, SamplePool):
        return spoken_sessions(pool)
    assert isinstance(pool, RecordingPool)  # noqa: S101 - an inertial set's
    sessions = []
    for person in np.unique(pool.person):
        rows = np.flatnonzero(pool.person == person)
        for half, chosen in enumerate(np.array_split(rows, 2)):
            columns = [
                np.concatenate([pool.clean[i][name] for i in chosen])
                for name in ("logits", "features")
            ]
            sessions.append(Session(int(person), half, {"clean": tuple(columns)}))
    return sessions


def spoken_sessions(pool: SamplePool) -> list[Session]:
    """Return two coherent streams of each speaker's own clips."""
    sessions = []
    for person in np.unique(pool.samples.group):
        rows = np.flatnonzero(pool.samples.group == person)
        for half, chosen in enumerate(np.array_split(rows, 2)):
            stream = pool.in_distribution(chosen, SPEAKER_STEPS, half)
            assert stream.features is not None  # noqa: S101 - every network gives features
            columns = stream.posteriors, stream.features
            sessions.append(Session(int(person), half, {"clean": columns}))
    return sessions


def stream_of(columns: Sequence[Array]) -> tcuq.Stream:
    """Return a stream of logits, features and perhaps health."""
    more: dict[str, Any] = {"health": columns[2]} if len(columns) > 2 else {}
    return tcuq.Stream(columns[0], columns[1], kind="logits", **more)


def drawn_epochs(sessions: Sequence[Session], seed: int, *, short: bool) -> Epochs:
    """Calibrate on some people, and run epochs of the others' sessions."""
    rng = np.random.default_rng([seed, 32])
    people = rng.permutation(np.unique([one.person for one in sessions]))
    known = set(people[: int(np.ceil(CALIBRATED * len(people)))].tolist())
    clean = [stream_of(one.outputs["clean"]) for one in sessions if one.person in known]
    calibration = joined(clean)
    profile = fitted(calibration)
    assert calibration.features is not None  # noqa: S101 - every network gives features
    noise = FEATURE_NOISE * float(np.abs(calibration.features).max())
    epochs: Epochs = {}
    for one in sessions:
        if one.person in known:
            continue
        plans = [(kind, STEPS, FAULT_EPOCHS) for kind in one.outputs]
        plans[0] = ("clean", STEPS, FAULT_EPOCHS if short else EPOCHS)
        plans += [("repeated", STEPS, FAULT_EPOCHS // 2), ("duty", DUTY_STEPS, FAULT_EPOCHS)]
        for kind, steps, count in plans:
            source = one.outputs.get(kind, one.outputs["clean"])
            epochs[one.person, one.half, kind] = np.stack(
                [
                    epoch(profile, source, steps_of(kind, len(source[0]), steps, rng), noise, rng)
                    for _ in range(count)
                ]
            )
    return epochs


def steps_of(kind: str, length: int, steps: int, rng: Rng) -> Array:
    """Return the steps of a session that make an epoch: repeated, or blocks from anywhere in it."""
    if kind == "repeated":
        return np.arange(steps) % length
    begins = rng.integers(0, max(length - BLOCK, 1), steps // BLOCK)
    return np.asarray(((begins[:, None] + np.arange(BLOCK)) % length).ravel())


def epoch(
    profile: tcuq.Profile, source: Sequence[Array], at: Array, noise: float, rng: Rng
) -> Array:
    """Run an epoch of these steps; return the means of its record and its evidence above 0."""
    columns = [column[at] for column in source]
    columns[0] = columns[0] + LOGIT_NOISE * rng.normal(size=columns[0].shape)
    columns[1] = columns[1] + noise * rng.normal(size=columns[1].shape)
    monitor = tcuq.Monitor(profile)
    monitor.run(stream_of(columns))
    record = decode(monitor.record(device=1, firmware=1, boot=0, sequence=0)).records[0]
    return np.array([*(int(record[name]) for name in MEANS), max(int(record["evidence"]), 0)])


class Cohort:
    """Devices that close three past epochs and a fourth one, judged by the product's code."""

    def __init__(self, epochs: Epochs, construction: str, rng: Rng, fault: str = "") -> None:
        self._epochs, self._construction, self._rng = epochs, construction, rng
        people = np.array(sorted({person for person, _, _ in epochs}))
        self._person = rng.choice(people, DEVICES)
        self._home = rng.integers(0, 2, DEVICES)
        self._kinds = np.full(
            DEVICES, "repeated" if construction == "repeated" else "clean", object
        )
        if construction == "duty":
            self._kinds[rng.random(DEVICES) < 0.5] = "duty"
        self.faulty = np.zeros(DEVICES, np.bool_)
        if fault:
            self.faulty[rng.choice(DEVICES, round(FAULTY * DEVICES), replace=False)] = True
        rows = np.zeros(DEVICES, CLOSED)
        for number in range(PAST_EPOCHS + 1):
            last = number == PAST_EPOCHS
            rows["new"] = self._new(fault if last else "", now=last)
            self.states = scored(folded(rows), np.empty(0, PEER))
            for name in STATE.names or ():
                rows[name] = self.states[name]
            rows["known"] = 1
        self._rows = rows

    def _new(self, fault: str, *, now: bool) -> Array:
        kinds = self._kinds.copy()
        if fault:
            kinds[self.faulty] = fault
        session = self._home
        if self._construction in ("two", "repeated") and now:
            session = 1 - session
        elif self._construction in ("mixture", "duty"):
            session = self._rng.integers(0, 2, DEVICES)
        new = np.empty((DEVICES, len(NAMES)), np.int64)
        for (person, half, kind), pool in self._epochs.items():
            at = np.flatnonzero((self._person == person) & (session == half) & (kinds == kind))
            new[at] = pool[self._rng.integers(0, len(pool), len(at))]
        return new

    def reference(self) -> tuple[Array, Array]:
        """Return counts of the scores that the fourth epoch leaves when the fifth closes."""
        self._rows["new"] = self._new("", now=True)
        _, distance, rise = calm_rows(self._rows)
        return np.bincount(distance, minlength=BUCKETS), np.bincount(rise, minlength=BUCKETS)

    def discovered(self, references: tuple[Array, Array], running: Array | int) -> Array:
        """Return which devices changed, with this evidence in the running epoch."""
        evidence = np.maximum(self.states["last"][:, -1], running).astype(float)
        rise = rise_buckets(evidence, self.states["past"][:, -1].astype(float))
        bits = change_bits_q8(self.states["score"], rise, references)
        cutoff = discover(bits, np.ones(DEVICES, int), DEVICES, LEVEL).cutoff_q8
        return np.zeros(DEVICES, np.bool_) if cutoff is None else bits >= cutoff

    def next_evidence(self) -> Array:
        """Return what the fifth epoch shows at its end."""
        return self._new("", now=True)[:, -1]


def fleet(
    epochs: Epochs, construction: str, seed: Sequence[int], fault: str = ""
) -> tuple[int, int, int]:
    """Judge one fleet; return its false discoveries, faulty devices found, and discoveries."""
    rng = np.random.default_rng([*seed, 33])
    counts = [Cohort(epochs, construction, rng).reference() for _ in range(REFERENCE)]
    references = (sum(one for one, _ in counts), sum(one for _, one in counts))
    cohort = Cohort(epochs, construction, rng, fault)
    # Without a fault at the end of the next epoch, where there is most to mistake; faults at once.
    running = 0 if fault else cohort.next_evidence()
    changed = cohort.discovered((np.asarray(references[0]), np.asarray(references[1])), running)
    right = int((changed & cohort.faulty).sum())
    return int(changed.sum()) - right, right, int(changed.sum())


def null_row(name: str, construction: str, fleets: Sequence[tuple[int, int, int]]) -> Row:
    """Return the share of fleets without a fault that have a false discovery."""
    return struck_row(
        f"{name}, {CONSTRUCTIONS[construction]}: fleets of {DEVICES:,} healthy devices",
        [false > 0 for false, _, _ in fleets],
    )


def fault_rows(
    name: str, construction: str, fault: str, fleets: Sequence[tuple[int, int, int]]
) -> Iterator[Row]:
    """Yield the false share among discoveries, and the share of faults found."""
    title = f"{name}, {CONSTRUCTIONS[construction]}, {100 * FAULTY:g} % of devices with {fault}"
    shares = np.array([false / max(total, 1) for false, _, total in fleets])
    error = shares.std(ddof=1) / len(shares) ** 0.5
    yield Row(
        f"{title}: false share among discoveries, mean of {len(fleets)} fleets",
        f"≤ {LEVEL} within two standard errors",
        f"{shares.mean():.3f} ± {error:.3f}",
        bool(shares.mean() - 2 * error <= LEVEL),
    )
    share = float(np.mean([right for _, right, _ in fleets])) / round(FAULTY * DEVICES)
    must = FAULTS[fault] if construction == "two" and name == "hapt+health" else None
    yield Row(
        f"{title}: found after one epoch",
        "stated" if must is None else f"≥ {must}",
        f"{share:.2f}",
        None if must is None else share >= must,
    )


def rows(short: bool) -> Iterator[Row]:
    """Yield the rows of every set; in the short form a few fleets of one network of HAPT."""
    for name, task in SETS.items():
        networks = (0,) if short else trained(task)
        faults = tuple(FAULTS) if task == "hapt" else ()
        pools = []
        for network in networks:
            log(f"{name}: epochs of network {network}")
            sessions = (
                hapt_sessions(network, faults, health=name == "hapt+health")
                if task == "hapt"
                else pool_sessions(task, network)
            )
            pools.append(drawn_epochs(sessions, network, short=short))
        yield from set_rows(name, pools, faults, short=short)
        if short:
            return


def set_rows(
    name: str, pools: Sequence[Epochs], faults: Sequence[str], *, short: bool
) -> Iterator[Row]:
    """Yield the rows of one set: without faults, then with each fault."""
    turns = SHORT_FLEETS if short else FLEETS
    for construction in ("one", "two") if short else CONSTRUCTIONS:
        log(f"{name}: {CONSTRUCTIONS[construction]}")
        fleets = [fleet(pools[i % len(pools)], construction, [i]) for i in range(turns)]
        yield null_row(name, construction, fleets)
        if construction in ("repeated", "duty"):
            continue
        for fault in faults:
            count = SHORT_FLEETS if short else FAULT_FLEETS
            fleets = [fleet(pools[i % len(pools)], construction, [i], fault) for i in range(count)]
            yield from fault_rows(name, construction, fault, fleets)


if __name__ == "__main__":
    measure("fleet_changes", rows, LIBRARIES, more=partial(provenance, tuple(set(SETS.values()))))
