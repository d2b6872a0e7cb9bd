# SPDX-License-Identifier: Apache-2.0
"""What alarms say to a technician: ten faults of HAPT's sensors, three networks, two onsets each.

Faults act on the raw samples of the test people. A sentence is right if it names the faulty sensor,
and what the fault does to it in the right direction.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

import tcuq
from results.result import Row, figure, measure
from tcuq_benchmark.data import hapt
from tcuq_benchmark.data.samples import Recording
from tcuq_benchmark.measurements.alarm_cases import LEVELS, LIBRARIES, NETWORKS, fitted
from tcuq_benchmark.measurements.alarm_hapt import health_of, provenance, with_fault
from tcuq_benchmark.networks.zoo import TrainedNetwork, load_network
from tcuq_benchmark.recordings import HOP, Windows, windows

Floats = NDArray[np.float64]
ACCELEROMETER, GYROSCOPE = slice(0, 3), slice(3, 6)
EITHER = ("accelerometer", "gyroscope")
ONSETS = 2
FEWEST = 0.9


def _scaled(sensor: slice, factor: float) -> Callable[[Floats, np.random.Generator], Floats]:
    def scaled(signal: Floats, _: np.random.Generator) -> Floats:
        signal[:, sensor] *= factor
        return signal

    return scaled


def _noisy(sensor: slice, size: float) -> Callable[[Floats, np.random.Generator], Floats]:
    def noisy(signal: Floats, rng: np.random.Generator) -> Floats:
        signal[:, sensor] += rng.normal(0, size, signal[:, sensor].shape)
        return signal

    return noisy


def _stuck(signal: Floats, _: np.random.Generator) -> Floats:
    signal[:, ACCELEROMETER] = signal[0, ACCELEROMETER]
    return signal


def _frozen(signal: Floats, _: np.random.Generator) -> Floats:
    """Return half a window of samples again and again, as of a buffer that nobody fills."""
    return np.resize(signal[:HOP], signal.shape)


def _offset(signal: Floats, _: np.random.Generator) -> Floats:
    signal[:, 2] += 2.0  # g
    return signal


def _dropout(signal: Floats, rng: np.random.Generator) -> Floats:
    return with_fault(signal, "dropout", 1.0, rng)


# Each fault, the sensors that it is of, and what a sentence about it may say of them.
FAULTS = {
    "dead accelerometer": (
        _scaled(ACCELEROMETER, 0),
        EITHER[:1],
        ("frozen", "dead", "almost nothing"),
    ),
    "dead gyroscope": (_scaled(GYROSCOPE, 0), EITHER[1:], ("frozen", "dead", "almost nothing")),
    "stuck accelerometer": (_stuck, EITHER[:1], ("frozen", "dead")),
    "frozen buffer": (_frozen, EITHER, ("frozen",)),
    "noisy accelerometer": (_noisy(ACCELEROMETER, 0.3), EITHER[:1], ("is noisier",)),
    "noisy gyroscope": (_noisy(GYROSCOPE, 0.6), EITHER[1:], ("is noisier",)),
    "twice the gain": (_scaled(slice(0, 6), 2), EITHER, ("rose",)),
    "a quarter of the gain": (_scaled(slice(0, 6), 0.25), EITHER, ("fell",)),
    "offset of the accelerometer": (_offset, EITHER[:1], ("level rose",)),
    "dropped samples": (_dropout, EITHER, ("is noisier", "frozen", "level fell")),
}


def stream_of(network: TrainedNetwork, cut: Windows) -> tcuq.Stream:
    """Return a network's outputs on windows, with their health."""
    outputs = network.run(cut.samples.x)
    return tcuq.Stream(
        outputs["logits"],
        outputs["features"],
        kind="logits",
        starts=cut.starts,
        shifted=cut.shifted,
        health=health_of(cut.samples.x),
    )


def faulty_run(fault: str, run: int, rng: np.random.Generator) -> Windows:
    """Return half of the test people, on whom a fault begins in the middle of a recording."""
    recordings = hapt.load()["test"]
    middle = len(recordings) // ONSETS
    recordings = recordings[run * middle :][:middle]
    signal = np.concatenate([one.signal for one in recordings])
    onset = len(recordings[0].label) // 2
    signal[onset:] = FAULTS[fault][0](signal[onset:].astype(np.float64), rng)
    cuts = np.cumsum([len(one.label) for one in recordings])[:-1]
    faulty = [
        Recording(one.name, one.person, part, one.label)
        for one, part in zip(recordings, np.split(signal, cuts), strict=True)
    ]
    active = np.split(np.arange(len(signal)) >= onset, cuts)
    return windows(faulty, hapt.CLASSES, active)


def is_right(fault: str, sentence: str) -> bool:
    """Return whether a sentence names the sensor and what the fault does to it."""
    _, sensors, phrases = FAULTS[fault]
    return any(one in sentence for one in sensors) and any(one in sentence for one in phrases)


def sentences(seed: int) -> Iterator[tuple[str, str]]:
    """Yield each fault of one network, and what its first alarm says; "" if there is none."""
    network = load_network("hapt", "base", seed)
    calibration = windows(hapt.load()["calibration"], hapt.CLASSES)
    profile = fitted(stream_of(network, calibration), LEVELS[-1])
    for number, fault in enumerate(FAULTS):
        for run in range(ONSETS):
            rng = np.random.default_rng([seed, number, run])
            stream = stream_of(network, faulty_run(fault, run, rng))
            assert stream.shifted is not None  # noqa: S101 - faults are marked
            meanings = tcuq.Monitor(profile).run(stream).meanings
            onset = int(stream.shifted.argmax())
            yield fault, next((text for step, text in meanings.items() if step >= onset), "")


def rows(short: bool) -> Iterator[Row]:
    """Yield the share of right sentences, and those of each fault."""
    onsets = [pair for seed in NETWORKS[: 1 if short else None] for pair in sentences(seed)]
    raised = [(fault, text) for fault, text in onsets if text]
    right = sum(is_right(fault, text) for fault, text in raised)
    yield Row(
        f"sentences of alarms that name sensor, fault and direction, {len(FAULTS)} faults of HAPT",
        f"≥ {FEWEST:.0%} of those raised",
        f"{right} of {len(raised)}; {len(onsets) - len(raised)} onsets not found",
        right >= FEWEST * len(raised) > 0,
    )
    lost = [(fault, text) for fault, text in onsets if "dead" in fault or "fr" in fault[:2]]
    named = sum(is_right(fault, text) for fault, text in lost)
    yield Row(
        "the same of dead sensors and of a frozen buffer",
        f"{len(lost)} of {len(lost)}",
        f"{named} of {len(lost)}",
        named == len(lost),
    )
    for fault in FAULTS:
        texts = [text or "no alarm" for name, text in onsets if name == fault]
        counts = {text: texts.count(text) for text in dict.fromkeys(texts)}
        words = "; ".join(f"{count} × {text}" for text, count in counts.items())
        yield figure(f"what alarms say of: {fault}", words)


if __name__ == "__main__":
    measure("causes", rows, LIBRARIES, more=provenance)
