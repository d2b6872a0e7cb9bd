# SPDX-License-Identifier: Apache-2.0
"""The device's integers against the float reference on the same inputs, stage by stage."""

import math
import warnings
from dataclasses import replace
from functools import cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

import tcuq
import tcuq.reference
from tcuq._health_columns import HEALTH_ONE
from tcuq.demo import FAULTS, demo_stream
from tcuq.monitor import Monitor
from tcuq.profile.quantize import quantize
from tcuq.profile.settings import ALPHA_BITS, RISK_LEVELS
from tcuq.stages.alarm import Alarm
from tcuq.stages.budget import Budget
from tcuq.stages.columns import SignalColumns
from tcuq.stages.inputs import Inputs, device_health
from tcuq.stages.score import Novelty, make_score, risk_odds
from tcuq.stages.signals import Signals
from tcuq.stages.threshold import Threshold
from tcuq.stream import Stream

Preset = Literal["recommended", "paper"]
PRESETS: tuple[Preset, ...] = get_args(Preset)
RECORDED = ("test", "development", *(f"fault_{name}" for name in FAULTS))

Q15 = 2.0**-15
LOG = math.log(2) / 1024  # a last bit of a logarithm, in natural units

# The bounds of docs/spec/arithmetic.md; divergence has CHORD more a class.
BOUNDS = {
    "confidence": 2 * 2.0**-16,
    "divergence": 0.015,
    "instability": 12 * Q15,
    "inconsistency": 3 * Q15,
    "doubt": 3 * Q15,
    "low_confidence": 3 * LOG,
    "novelty": 0.15,
    "health": 0.25,
}
CHORD = 1 / 256
HEALTH_SCALES = (1 / 128, 1 / 64, 1 / 8, 0.5, 1, 4)


def bounds(profile: tcuq.Profile) -> dict[str, float]:
    """The largest difference the specification allows each signal of this profile."""
    divergence = BOUNDS["divergence"] + CHORD * profile.inputs.classes
    return BOUNDS | {"divergence": divergence, "label": 0.0}


def probabilities_of(logits: ArrayLike) -> NDArray[np.float64]:
    """Softmax, row by row."""
    rows = np.asarray(logits, np.float64)
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return shares


def posterior_bytes(probabilities: NDArray[np.float64]) -> NDArray[np.uint8]:
    """What docs/spec/arithmetic.md says of posteriors."""
    return np.minimum(np.rint(probabilities * 256), 255).astype(np.uint8)


def feature_bytes(features: ArrayLike, scale: float) -> NDArray[np.int8]:
    """What docs/spec/arithmetic.md says of features."""
    return np.clip(np.rint(np.asarray(features, np.float64) / scale), -127, 127).astype(np.int8)


def random_stream(classes: int, width: int, steps: int, seed: int) -> Stream:
    """Posteriors from certain to clueless, features about a centre, health of six scales."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.integers(0, classes, steps // 20 + 1), 20)[:steps]
    logits = rng.normal(size=(steps, classes)) * rng.uniform(0, 4, (steps, 1))
    logits[np.arange(steps), labels] += rng.uniform(0, 8, steps)
    centres = 2 * np.random.default_rng(classes).normal(size=(classes, width))
    features = centres[labels] + rng.normal(size=(steps, width))
    health = 4 + rng.standard_t(3, (steps, len(HEALTH_SCALES))) * HEALTH_SCALES
    return Stream(probabilities_of(logits), features, labels, health=health)


def quiet_fit(
    stream: Stream, development: Stream | None = None, *, preset: Preset = "recommended"
) -> tcuq.Profile:
    """A fit whose warnings are not what is measured here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcuq.CalibrationWarning)
        return tcuq.fit(stream, development, preset=preset)


@cache
def recorded_profile(preset: Preset = "recommended") -> tcuq.Profile:
    """Fitted on the streams in the box."""
    development = demo_stream("development") if preset == "paper" else None
    return quiet_fit(demo_stream("calibration"), development, preset=preset)


def device_signals(profile: tcuq.Profile, stream: Stream) -> SignalColumns:
    """The runtime's signals in float units."""
    monitor = Monitor(profile)
    engine = monitor.engine
    posteriors, features = monitor.quantize(stream.posteriors, stream.features)
    assert features is not None  # noqa: S101 - every stream here has some
    health = device_health(stream.health, profile.signals.health, len(stream))
    rows = [None] * len(stream) if health is None else health
    measured = np.array([engine.signals(*s) for s in zip(posteriors, features, rows, strict=True)])
    values = measured[:, :-1] * [1, 2.0**-16, Q15, Q15, Q15, Q15, LOG, LOG, 1, LOG]
    columns = SignalColumns(**dict(zip(SignalColumns.__slots__, values.T, strict=True)))
    return replace(
        columns,
        whole_past=columns.whole_past.astype(np.bool_),
        health=None if health is None else columns.health,
    )


def float_signals(profile: tcuq.Profile, stream: Stream) -> SignalColumns:
    """The reference's signals."""
    health = device_health(stream.health, profile.signals.health, len(stream))
    return Signals(profile.signals, profile.inputs).run(
        *Inputs(profile.inputs).run(stream.posteriors, stream.features),
        None if health is None else health / HEALTH_ONE,
    )


def signal_differences(profile: tcuq.Profile, stream: Stream) -> dict[str, float]:
    """The largest difference of each signal, labels among them."""
    ours, reference = device_signals(profile, stream), float_signals(profile, stream)
    names = ["label", *BOUNDS]
    if not _reads_novelty(profile):  # the device then does not compute it
        names.remove("novelty")
    if reference.health is None or not Monitor(profile).reads_health:
        names.remove("health")
    return {n: float(np.abs(getattr(ours, n) - getattr(reference, n)).max()) for n in names}


def _reads_novelty(profile: tcuq.Profile) -> bool:
    return quantize(profile)["whitening"] is not None


def decision_differences(profile: tcuq.Profile, stream: Stream) -> dict[str, float]:
    """Every later stage, each in float on what the device's stage before it said.

    The largest difference of the risk and of novelty; of the others, how many steps differ.
    """
    columns = device_signals(profile, stream)
    device = Monitor(profile).run(stream.posteriors, stream.features, stream.health)
    levels = (device.risk * RISK_LEVELS).astype(np.int64)
    requested, exceeded, levels_q16 = Threshold(profile.threshold).run(levels)
    threshold = levels_q16 / (RISK_LEVELS << ALPHA_BITS)
    differences = {
        "score": float(np.abs(make_score(profile.score).run(columns) - device.risk).max()),
        "novelty": float(np.abs(Novelty(profile.novelty).run(columns) - device.novelty).max()),
        "threshold": int(((threshold != device.threshold) | (exceeded != device.exceeded)).sum()),
        "budget": int((Budget(profile.budget).run(requested) != device.outcome).sum()),
    }
    if profile.alarm is not None:
        flags = Alarm(profile.alarm).run(columns, risk_odds(levels))
        differences["alarm"] = int((flags != device.alarm).sum())
    return differences


def qualities(profile: tcuq.Profile, stream: Stream) -> dict[str, tuple[float, float]]:
    """AUROC and AUPRC of the risk against failure: the float path's and the device's."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    assert stream.labels is not None  # noqa: S101 - asked of labelled streams
    known = stream.labels >= 0
    reference = tcuq.reference.Monitor(profile).run(stream)
    device = Monitor(profile).run(stream)
    wrong = reference.label[known] != stream.labels[known]
    measures = {"AUROC": roc_auc_score, "AUPRC": average_precision_score}
    return {
        name: (measure(wrong, reference.risk[known]), measure(wrong, device.risk[known]))
        for name, measure in measures.items()
    }
