# SPDX-License-Identifier: Apache-2.0
"""Vectors for the self-test of the firmware: steps, and the host's decisions on them.

A few rows are stored and repeated, each for several steps, so that every lag has a past, the
shortest alarm blocks end and the budget is used, in less than a kilobyte.
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.firmware.header import structs
from tcuq.firmware.profile_c import rows
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.quantize import health_integers
from tcuq.profile.settings import ALPHA_BITS, RISK_LEVELS, InputSettings
from tcuq.stages.inputs import device_health
from tcuq.stream import Stream

ROWS = 8
DWELL = 3
STEPS_BEYOND_LAGS = 64
CONFIDENCES = (250, 200, 160, 128, 96, 230, 64, 180)  # of 256
NOISE, OUTLIER_NOISE = 3, 127  # of the features, in codes
DECIDED = (
    "label", "steady_label", "exceeded", "reason", "outcome", "withheld", "alarm", "amber",
    "cause",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Vectors:
    """Rows, and the decisions on the steps that repeat them."""

    posteriors: NDArray[np.uint8]
    features: NDArray[np.int8] | None
    health: NDArray[np.int16] | None
    decisions: dict[str, NDArray[np.int64]]
    state: bytes  # the checksum that ends the snapshot after the last step

    @property
    def count(self) -> int:
        """How many steps have a decision."""
        return len(self.decisions["label"])


def vectors(profile: Profile, stream: Stream | None = None) -> Vectors:
    """Rows of a recorded stream, from the least sure to the surest, or synthetic; the decisions."""
    monitor = Monitor(profile)
    if stream is None:
        posteriors, features = _synthetic_rows(profile)
        health = _synthetic_health(profile)
    else:
        surest_last = np.argsort(stream.posteriors.max(axis=1), kind="stable")  # or the largest
        at = surest_last[np.linspace(0, len(stream) - 1, ROWS).astype(int)]
        columns = None if stream.features is None else stream.features[at]
        posteriors, features = monitor.quantize(stream.posteriors[at], columns)
        statistics = None if stream.health is None else stream.health[at]
        health = device_health(statistics, profile.signals.health, ROWS)
    order = np.arange(max(profile.signals.lags) + STEPS_BEYOND_LAGS) // DWELL % ROWS
    columns, statistics = (None if part is None else part[order] for part in (features, health))
    trace = monitor.run(posteriors[order], columns, statistics)
    decisions: dict[str, NDArray[Any]] = {
        "risk": trace.risk * RISK_LEVELS,
        "expected_error": trace.expected_error * RISK_LEVELS,
        "novelty_q10": trace.novelty * 1024,
        "change": trace.change * 8,
        "threshold_q16": trace.threshold * (RISK_LEVELS << ALPHA_BITS),
        **{name: getattr(trace, name) for name in DECIDED},
    }
    integers = {name: column.astype(np.int64) for name, column in decisions.items()}
    return Vectors(posteriors, features, health, integers, monitor.snapshot()[-4:])


def _noise(seed: int) -> Iterator[int]:
    """Integers in 0..65535 by a generator that does not depend on any library's version."""
    state = seed
    while True:
        state = (state * 1664525 + 1013904223) % 2**32
        yield state >> 16


def _synthetic_rows(profile: Profile) -> tuple[NDArray[np.uint8], NDArray[np.int8] | None]:
    inputs, noise = profile.inputs, _noise(int(profile.sha256[:8], 16))
    posteriors = np.zeros((ROWS, inputs.columns), np.uint8)
    features = np.zeros((ROWS, inputs.width), np.int8)
    for row in range(ROWS):
        posteriors[row] = _synthetic_row(row, inputs, noise)
        centre = _centre(profile, row % max(inputs.classes, 1))
        largest = NOISE if row < ROWS - 2 else OUTLIER_NOISE  # the last two rows are outliers
        offsets = [next(noise) % (2 * largest + 1) - largest for _ in range(inputs.width)]
        features[row] = np.clip(centre + np.array(offsets, np.int64), -127, 127)
    return posteriors, features if inputs.width else None


def _synthetic_row(row: int, inputs: InputSettings, noise: Iterator[int]) -> NDArray[np.uint8]:
    """A posterior, or outputs that are far from calibration's in the last rows."""
    if inputs.outputs is not None:
        largest = NOISE if row < ROWS - 2 else OUTLIER_NOISE
        values = [next(noise) % (2 * largest + 1) - largest for _ in range(inputs.columns)]
        return np.array(values, np.int8).view(np.uint8)
    posterior = np.zeros(inputs.classes, np.uint8)
    label, rest = row % inputs.classes, 256 - CONFIDENCES[row]
    for step in range(1, inputs.classes):  # each other class gets a share of the rest
        share = rest if step == inputs.classes - 1 else next(noise) % (rest // 2 + 1)
        posterior[(label + step) % inputs.classes] = share
        rest -= share
    posterior[label] = CONFIDENCES[row]
    return posterior


def _synthetic_health(profile: Profile) -> NDArray[np.int16] | None:
    """Statistics around calibration's means, in the last rows far from them."""
    if profile.signals.health is None or profile.alarm is None:  # only the alarm reads it
        return None
    means, scales = (np.array(part) for part in astuple(profile.signals.health)[1:])
    noise = _noise(int(profile.sha256[8:16], 16))
    sizes = np.where(np.arange(ROWS) < ROWS - 2, 1.0, 8.0)  # the last two rows are outliers
    scores = np.array([[next(noise) / 32768 - 1 for _ in means] for _ in range(ROWS)])
    return health_integers(means + sizes[:, None] * scores * scales)


def _centre(profile: Profile, label: int) -> NDArray[np.int64]:
    """A class mean in the device's units if the profile has one, else zeros."""
    inputs, novelty = profile.inputs, profile.signals.novelty
    if novelty is None or inputs.projection is not None or inputs.feature_scale is None:
        return np.zeros(inputs.width, np.int64)
    mean = np.array(novelty.means[label % len(novelty.means)]) / inputs.feature_scale
    centre = np.zeros(inputs.width, np.int64)
    centre[slice(None) if inputs.selection is None else list(inputs.selection)] = np.rint(mean)
    return centre


def selftest_c(steps: Vectors) -> str:
    """The vectors as C tables for the self-test's template."""
    names = [member.name for member in structs()["tcuq_decision"]]
    zeros = np.zeros(steps.count, np.int64)
    decisions = np.stack([steps.decisions.get(name, zeros) for name in names], axis=1).tolist()
    expected = ",\n".join(f"    {{{', '.join(map(str, row))}}}" for row in decisions)
    parts = [
        f"#define ROWS {ROWS}u",
        f"#define DWELL {DWELL}u",
        f"#define STEPS {steps.count}u\n",
        f"static const uint8_t state_crc[4] = {{{rows(steps.state)}}};\n",
        f"static const uint8_t posteriors[] = {{\n    {rows(steps.posteriors.ravel())},\n}};\n",
    ]
    if steps.features is not None:
        parts.append(
            f"static const int8_t features[] = {{\n    {rows(steps.features.ravel())},\n}};\n"
        )
    if steps.health is not None:
        parts.append(
            f"static const int16_t health[] = {{\n    {rows(steps.health.ravel())},\n}};\n"
        )
    parts.append(
        f"/* {', '.join(names)} */\n"
        f"static const tcuq_decision expected[STEPS] = {{\n{expected},\n}};"
    )
    return "\n".join(parts)
