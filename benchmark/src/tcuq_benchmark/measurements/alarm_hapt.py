# SPDX-License-Identifier: Apache-2.0
"""HAPT's streams with six sensor faults, from the raw recordings: outputs, labels and health.

The people of calibration and test are those of the benchmark. Faults act on raw samples, in
physical units, from the middle of a run's first recording to the end of the run.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tcuq
from tcuq_benchmark.data import hapt
from tcuq_benchmark.data.files import manifest
from tcuq_benchmark.data.samples import Array, Ints, Part, Recording
from tcuq_benchmark.detectors.recording_pool import RecordingPool
from tcuq_benchmark.measurements.alarm_hapt_network import EPOCHS, outputs, weights_sha256
from tcuq_benchmark.outputs import cached, key
from tcuq_benchmark.recordings import Windows, windows

FAULTS = ("noise", "gain", "bias", "rotation", "dropout", "stuck")
# Severity 1, fixed before any result was known.
NOISE = np.repeat([0.3, 0.6], 3)  # g and rad/s, standard deviation on each channel
GAIN_EXCESS = 0.6  # every channel reads 1.6 times the true value
BIAS = np.array([[0.3], [0.2]])  # g and rad/s, length of the constant offset
ROTATION_DEGREES = 40.0
DROPOUT_FRACTION, DROPOUT_BURST = 0.3, 10.0  # share of samples lost, mean burst in samples
SENSOR_UNIT = np.repeat([1 / 720, 0.00030543], 3)  # g and rad/s of one digit of the phone's sensors
SENSORS = {"accelerometer": (0, 1, 2), "gyroscope": (3, 4, 5)}

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def stream_of(cut: Windows, *, health: bool, epochs: int = EPOCHS) -> tcuq.Stream:
    """Return the network's outputs on windows, with their health if `health`."""
    logits, features = cached_outputs(cut, epochs)
    scale = feature_scale(epochs)
    more: dict[str, Any] = {"health": health_of(cut.samples.x)} if health else {}
    return tcuq.Stream(
        logits.astype(np.float16),
        np.clip(np.rint(features / scale), -128, 127).astype(np.int8) * np.float64(scale),
        cut.samples.y,
        kind="logits",
        starts=cut.starts,
        shifted=cut.shifted,
        **more,
    )


def cached_outputs(cut: Windows, epochs: int) -> tuple[Array, Array]:
    """Return logits and features of windows, from the cache if they are there."""
    x = cut.samples.x
    name = key(cut.samples.sha256, weights_sha256(epochs), {"kind": "windows"})

    def run(begin: int, end: int) -> dict[str, Array]:
        return dict(zip(("logits", "features"), outputs(x[begin:end], epochs), strict=True))

    entry = cached(name, len(x), run, part_steps=len(x))
    return entry["logits"], entry["features"]


def health_of(cut: NDArray[np.float32]) -> tcuq.Health:
    """Return input health of windows in digits of the sensor."""
    return tcuq.health(cut / SENSOR_UNIT, tuple(SENSORS.values()), names=tuple(SENSORS))


@cache
def recordings_health() -> tuple[tcuq.Health, ...]:
    """Return the input health of the recordings of calibration and test, in order."""
    parts = hapt.load()
    recordings = [*parts["calibration"], *parts["test"]]
    return tuple(health_of(windows([one], hapt.CLASSES).samples.x) for one in recordings)


def with_health(stream: tcuq.Stream, numbers: Ints) -> tcuq.Stream:
    """Return the stream with input health; `numbers` are those of its recordings."""
    known = recordings_health()
    lengths = np.diff([*stream.starts, len(stream)])
    pairs = zip(numbers.tolist(), lengths.tolist(), strict=True)
    return tcuq.Stream(
        stream.posteriors,
        stream.features,
        kind="logits",
        starts=stream.starts,
        health=np.concatenate([known[number].values[:length] for number, length in pairs]),
        health_names=known[0].names,
    )


@lru_cache(maxsize=2)
def feature_scale(epochs: int = EPOCHS) -> float:
    """Return the step of int8 features at which almost no training window saturates."""
    cut = windows(hapt.load()["train"], hapt.CLASSES).samples.x
    return float(np.quantile(outputs(cut, epochs)[1], 0.9999) / 127)


@lru_cache(maxsize=4)
def clean_stream(part: Part, *, health: bool, epochs: int = EPOCHS) -> tcuq.Stream:
    """Return the recordings of one part without a fault."""
    return stream_of(windows(hapt.load()[part], hapt.CLASSES), health=health, epochs=epochs)


def activity_pool(epochs: int = EPOCHS) -> RecordingPool:
    """Return the recordings of calibration and test without a fault, in order."""
    parts = hapt.load()
    calibration, test = parts["calibration"], parts["test"]
    streams = (
        clean_stream("calibration", health=False, epochs=epochs),
        clean_stream("test", health=False, epochs=epochs),
    )
    return RecordingPool(
        np.array([one.person for one in (*calibration, *test)]),
        np.repeat([0, 1], [len(calibration), len(test)]),
        [
            {"logits": one.posteriors.astype(np.float64), "features": np.asarray(one.features)}
            for stream in streams
            for one in stream.recordings()
        ],
        {},
    )


def fault_stream(
    fault: str,
    rng: np.random.Generator,
    severity: float = 1.0,
    *,
    health: bool,
    epochs: int = EPOCHS,
) -> tcuq.Stream:
    """Return the test people in two runs of recordings, in each of which the fault begins once."""
    recordings = hapt.load()["test"]
    middle = len(recordings) // 2
    faulty: list[Recording] = []
    active: list[Bools] = []
    for run in (recordings[:middle], recordings[middle:]):
        signal = np.concatenate([one.signal for one in run])
        onset = len(run[0].label) // 2
        signal[onset:] = with_fault(signal[onset:].astype(np.float64), fault, severity, rng)
        cuts = np.cumsum([len(one.label) for one in run])[:-1]
        for one, part in zip(run, np.split(signal, cuts), strict=True):
            faulty.append(Recording(one.name, one.person, part, one.label))
        active += np.split(np.arange(len(signal)) >= onset, cuts)
    return stream_of(windows(faulty, hapt.CLASSES, active), health=health, epochs=epochs)


def with_fault(signal: Floats, fault: str, severity: float, rng: np.random.Generator) -> Floats:
    """Return samples (n, 6) with one fault."""
    if fault == "noise":
        added: Floats = severity * rng.normal(size=signal.shape) * NOISE
        return signal + added
    if fault == "gain":
        return signal * (1 + severity * GAIN_EXCESS)
    if fault == "bias":
        offset = rng.normal(size=(2, 3))
        offset /= np.linalg.norm(offset, axis=1, keepdims=True)
        constant: Floats = severity * (offset * BIAS).ravel()
        return signal + constant
    if fault == "rotation":
        turn = _rotation(rng.normal(size=3), np.radians(severity * ROTATION_DEGREES))
        turned: Floats = (signal.reshape(-1, 2, 3) @ turn.T).reshape(-1, 6)
        return turned
    if fault == "dropout":
        lost = _lost_samples(len(signal), severity * DROPOUT_FRACTION, rng)
        return np.where(lost[:, None], 0.0, signal)
    if fault == "stuck":  # all or nothing, so severity does not enter
        stuck = signal.copy()
        axis = rng.integers(3)
        stuck[:, axis] = stuck[0, axis]
        return stuck
    raise ValueError(f"fault must be one of {', '.join(FAULTS)}, got {fault!r}")


def _rotation(axis: Floats, angle: float) -> Floats:
    """Return the rotation matrix about an axis by an angle in radians (Rodrigues)."""
    x, y, z = axis / np.linalg.norm(axis)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    matrix: Floats = np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)
    return matrix


def _lost_samples(n: int, fraction: float, rng: np.random.Generator) -> Bools:
    """Return bursts of lost samples: geometric bursts and gaps with the wanted share."""
    lost = np.zeros(n, np.bool_)
    mean_gap = DROPOUT_BURST * (1 - fraction) / fraction
    at = 0
    while at < n:
        burst = int(rng.geometric(1 / DROPOUT_BURST))
        lost[at : at + burst] = True
        at += burst + int(rng.geometric(1 / mean_gap))
    return lost


def provenance(epochs: int = EPOCHS) -> dict[str, object]:
    """Return the checksums of HAPT and of the activity network."""
    return {
        "data_sha256": {hapt.NAME: manifest()[hapt.NAME].sha256},
        "networks_sha256": {"hapt-activity": weights_sha256(epochs)},
    }


def draw(fault: str, seed: int) -> np.random.Generator:
    """Return the random numbers of one draw of a fault; seed 0 is that of published streams."""
    return np.random.default_rng([seed, 1, FAULTS.index(fault)])


def runs_of(stream: tcuq.Stream) -> Sequence[tcuq.Stream]:
    """Return the stream's runs; a fault ends with its run, as after a repair."""
    assert stream.shifted is not None  # noqa: S101 - faults are marked
    begins = stream.starts[1:]
    repaired = begins[stream.shifted[begins - 1] & ~stream.shifted[begins]]
    edges = [0, *repaired.tolist(), len(stream)]
    return [stream[begin:end] for begin, end in pairwise(edges)]
