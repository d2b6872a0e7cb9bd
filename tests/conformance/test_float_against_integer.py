# SPDX-License-Identifier: Apache-2.0
"""The device's integers against the float reference on the same inputs, stage by stage."""

import math
import warnings

import numpy as np
import pytest
from numpy.typing import NDArray

import tcuq
from tcuq.columns import SignalColumns
from tcuq.demo import demo_stream
from tcuq.device import DeviceMonitor
from tcuq.inputs import Inputs
from tcuq.quantize import POSTERIOR_STEP, quantize
from tcuq.runtime import Engine
from tcuq.signals import Signals
from tcuq.stream import Stream

Q15 = 2.0**-15
LOG = math.log(2) / 1024  # a last bit of a logarithm, in natural units

# The bounds of docs/spec/arithmetic.md.
BOUNDS = {
    "confidence": 2 * 2.0**-16,
    "divergence": 0.02,
    "instability": 12 * Q15,
    "inconsistency": 3 * Q15,
    "doubt": 3 * Q15,
    "low_confidence": 3 * LOG,
    "novelty": 0.1,
}


def quantised(stream: Stream, scale: float) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
    """What the firmware would be given."""
    logits = stream.posteriors.astype(np.float64)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    rows = np.minimum(np.rint(powers / powers.sum(axis=1, keepdims=True) * 256), 255)
    assert stream.features is not None
    features = np.clip(np.rint(stream.features / scale), -127, 127)
    return rows.astype(np.uint8), features.astype(np.int8)


@pytest.fixture(scope="module")
def device_stream() -> Stream:
    """The calibration stream as a device records it: probabilities in 1/256, features in int8."""
    return as_recorded("calibration")


def as_recorded(name: str) -> Stream:
    """A stream in the box as a device records it."""
    stream = demo_stream(name)
    assert stream.features is not None
    scale = float(np.quantile(np.abs(demo_stream("calibration").features), 0.9999) / 127)  # type: ignore[arg-type]
    rows, features = quantised(stream, scale)
    return Stream(
        rows * POSTERIOR_STEP,
        features * scale,
        stream.labels,
        starts=stream.starts,
        shifted=stream.shifted,
    )


@pytest.fixture(scope="module")
def profile(device_stream: Stream) -> tcuq.Profile:
    """Fitted on what the device records."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcuq.CalibrationWarning)
        return tcuq.fit(device_stream, verbose=False)


def device_signals(profile: tcuq.Profile, stream: Stream) -> dict[str, NDArray[np.float64]]:
    """The runtime's signals in float units."""
    engine = Engine(quantize(profile))
    scale = profile.inputs.feature_scale
    assert stream.features is not None
    assert scale is not None
    rows = np.rint(stream.posteriors * 256).astype(np.uint8)
    features = np.clip(np.rint(stream.features / scale), -127, 127).astype(np.int8)
    found = np.array([engine.signals(row, f) for row, f in zip(rows, features, strict=True)])
    names = ("confidence", "divergence", "instability", "inconsistency", "doubt")
    units = (2.0**-16, Q15, Q15, Q15, Q15)
    columns = {n: found[:, i + 1] * u for i, (n, u) in enumerate(zip(names, units, strict=True))}
    return {
        **columns,
        "label": found[:, 0].astype(float),
        "low_confidence": found[:, 6] * LOG,
        "novelty": found[:, 7] * LOG,
    }


def float_signals(profile: tcuq.Profile, stream: Stream) -> SignalColumns:
    """The reference's signals."""
    return Signals(profile.signals, profile.inputs).run(
        *Inputs(profile.inputs).run(stream.posteriors, stream.features)
    )


@pytest.mark.parametrize("name", ["test", "fault_gain", "fault_dropout"])
def test_signals_are_within_the_stated_bounds(profile: tcuq.Profile, name: str) -> None:
    """Every signal of every step of recorded streams."""
    stream = as_recorded(name)
    ours, reference = device_signals(profile, stream), float_signals(profile, stream)
    assert (ours["label"] == reference.label).all()
    for signal, bound in BOUNDS.items():
        worst = float(np.abs(ours[signal] - getattr(reference, signal)).max())
        assert worst <= bound, f"{signal}: {worst:.6f} > {bound:.6f}"


def test_quality_is_kept(profile: tcuq.Profile) -> None:
    """Failure AUROC and AUPRC of the device are within 0.005 of the float path's."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    stream = as_recorded("test")
    assert stream.labels is not None
    known = stream.labels >= 0
    reference = tcuq.Monitor(profile).run_stream(stream)
    device = DeviceMonitor(profile).run_stream(stream)
    wrong = reference.label[known] != stream.labels[known]
    for measure in (roc_auc_score, average_precision_score):
        apart = measure(wrong, device.risk[known]) - measure(wrong, reference.risk[known])
        assert abs(apart) <= 0.005


def test_step_is_run(profile: tcuq.Profile) -> None:
    """One by one and in bulk the engine says the same."""
    stream = as_recorded("fault_gain")
    assert stream.features is not None
    one, many = DeviceMonitor(profile), DeviceMonitor(profile)
    trace = many.run(stream.posteriors[:500], stream.features[:500])
    for index in range(500):
        assert one.step(stream.posteriors[index], stream.features[index]) == trace[index]


def test_alarms_agree_with_the_reference(profile: tcuq.Profile) -> None:
    """On a fault that is alarmed, device and reference alarm in the same block."""
    stream = as_recorded("fault_gain")
    reference = tcuq.Monitor(profile).run_stream(stream)
    device = DeviceMonitor(profile).run_stream(stream)
    assert reference.alarm.any()
    assert device.alarm.nonzero()[0].tolist() == reference.alarm.nonzero()[0].tolist()
