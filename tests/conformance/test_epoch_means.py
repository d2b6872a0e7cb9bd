# SPDX-License-Identifier: Apache-2.0
"""A record's means over an epoch are those of the decisions, rounded down."""

import math
from dataclasses import replace

import numpy as np
import pytest

import tcuq
from tcuq.decision import joined_traces
from tcuq.demo import demo_profile, demo_stream
from tcuq.monitor import Monitor
from tcuq.profile.settings import RISK_LEVELS
from tcuq.reference import ReferenceMonitor
from tcuq.stages.inputs import Inputs
from tcuq.stages.signals import Signals, health_signal
from tcuq.telemetry import MEANS, NO_MEAN, decode, estimated_accuracy, mean_of
from tests.fixtures.healthy_streams import health_profile, healthy_stream, without_health

STREAM = demo_stream("fault_hum")
FEATURES = np.asarray(STREAM.features)
LONG = 20_000  # steps of an epoch whose sums are carried twice


def with_epochs_of(steps: int) -> tcuq.Profile:
    """Return the demo's profile with epochs of so many steps."""
    profile = demo_profile()
    assert profile.alarm is not None
    return replace(profile, alarm=replace(profile.alarm, epoch_steps=steps))


def fields(monitor: Monitor) -> np.ndarray:
    """Return the decoded record."""
    return decode(monitor.record(device=1, firmware=1, boot=0, sequence=0)).records


def expected(trace: tcuq.Trace, first: int, last: int) -> dict[str, int]:
    """Return the means over steps of a trace by exact integers; not the confidence."""
    changed = np.concatenate([[False], trace.label[1:] != trace.label[:-1]])
    values = {
        "expected_error": trace.expected_error * RISK_LEVELS,
        "health": np.zeros(len(trace)),
        "novelty": trace.novelty * 1024,
        "label_changes": changed * RISK_LEVELS,
    }
    return {
        name: int(np.rint(column[first:last]).astype(int).sum()) // (last - first)
        for name, column in values.items()
    }


@pytest.mark.parametrize("steps", [256, 300, LONG])
def test_an_epochs_means_are_the_sums_of_its_decisions_over_its_steps(steps: int) -> None:
    """Every closed epoch's means are sum / steps, rounded down; earlier steps do not count."""
    monitor, turns = Monitor(with_epochs_of(steps)), -(-2 * steps // len(STREAM.posteriors))
    posteriors = np.tile(STREAM.posteriors, (turns, 1))[: 2 * steps]
    features = np.tile(FEATURES, (turns, 1))[: 2 * steps]
    traces = []
    for epoch in (0, 1):
        at = slice(epoch * steps, (epoch + 1) * steps)
        traces.append(monitor.run(posteriors[at], features[at]))
        whole = joined_traces(traces)
        means = expected(whole, at.start, at.stop)
        assert {name: int(fields(monitor)[name][0]) for name in means} == means


def test_the_first_epoch_is_told_so_far_and_then_the_last_closed_one() -> None:
    """The means of a record are of the running epoch only until the first one closes."""
    monitor = Monitor(with_epochs_of(300))
    assert [int(fields(monitor)[name][0]) for name in MEANS] == [NO_MEAN] * len(MEANS)
    trace = monitor.run(STREAM.posteriors[:100], FEATURES[:100])
    assert int(fields(monitor)["expected_error"][0]) == expected(trace, 0, 100)["expected_error"]
    monitor.run(STREAM.posteriors[100:300], FEATURES[100:300])
    closed = fields(monitor)
    monitor.run(STREAM.posteriors[300:500], FEATURES[300:500])
    assert all(fields(monitor)[name] == closed[name] for name in MEANS)


def test_the_means_are_the_float_references() -> None:
    """Means are within 0.02 of the float monitor's, the confidence within 0.02 bits."""
    profile = with_epochs_of(len(STREAM.posteriors))
    monitor, reference = Monitor(profile), ReferenceMonitor(profile)
    monitor.run(STREAM.posteriors, FEATURES)
    trace, record = reference.run(STREAM.posteriors, FEATURES), fields(monitor)
    inputs = Inputs(profile.inputs)
    signals = Signals(profile.signals, profile.inputs).run(
        *inputs.convert(*inputs.check(STREAM.posteriors, FEATURES)), None
    )
    assert estimated_accuracy(record)[0] == pytest.approx(1 - trace.expected_error.mean(), abs=0.02)
    assert mean_of(record, "novelty")[0] == pytest.approx(trace.novelty.mean(), abs=0.02)
    confidence = -signals.low_confidence.mean() / math.log(2)
    assert mean_of(record, "confidence")[0] == pytest.approx(confidence, abs=0.02)
    changes = (trace.label[1:] != trace.label[:-1]).sum() / len(trace)
    assert mean_of(record, "label_changes")[0] == pytest.approx(changes, abs=1e-4)


def test_the_mean_of_health_is_the_float_references_and_a_step_without_counts_as_none() -> None:
    """Health is within 0.02 bits of the float signal's; half of the steps without halve it."""
    profile, stream = health_profile(), healthy_stream(1000, seed=5, rough_from=500)
    assert profile.signals.health is not None
    signal = health_signal(np.asarray(stream.health), profile.signals.health) / math.log(2)
    monitor = Monitor(profile)
    monitor.run(stream)
    assert mean_of(fields(monitor), "health")[0] == pytest.approx(signal.mean(), abs=0.02)
    monitor.run(without_health(stream))
    assert mean_of(fields(monitor), "health")[0] == pytest.approx(signal.mean() / 2, abs=0.02)


def test_a_power_cut_within_an_epoch_changes_no_mean() -> None:
    """The sums and the last label are part of the snapshot."""
    whole, cut = Monitor(with_epochs_of(400)), Monitor(with_epochs_of(400))
    whole.run(STREAM.posteriors[:400], FEATURES[:400])
    cut.run(STREAM.posteriors[:150], FEATURES[:150])
    again = Monitor(with_epochs_of(400))
    again.restore(cut.snapshot())
    again.run(STREAM.posteriors[150:400], FEATURES[150:400])
    assert fields(again).tobytes() == fields(whole).tobytes()


def test_without_an_alarm_there_is_no_epoch_and_no_mean() -> None:
    """A profile without channels never counts an epoch's steps."""
    monitor = Monitor(replace(demo_profile(), alarm=None))
    monitor.run(STREAM.posteriors, FEATURES)
    assert np.isnan(estimated_accuracy(fields(monitor))).all()
