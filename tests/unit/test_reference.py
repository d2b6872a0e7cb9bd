# SPDX-License-Identifier: Apache-2.0
import copy

import numpy as np
import pytest

import tcuq
import tcuq.reference
from tcuq.demo import demo_profile, demo_stream
from tcuq.errors import InputError


@pytest.fixture
def monitor() -> tcuq.reference.ReferenceMonitor:
    """Return a new monitor of the demo's profile."""
    return tcuq.reference.ReferenceMonitor(demo_profile())


def test_decision_names_are_the_traces(monitor: tcuq.reference.ReferenceMonitor) -> None:
    """A trace has a decision's names, one array each."""
    stream = demo_stream("test")
    trace = monitor.run(stream.posteriors[:10], stream.features[:10])  # type: ignore[index]
    assert list(tcuq.Trace.__slots__) == list(tcuq.Decision.__slots__)
    assert isinstance(trace[3], tcuq.Decision)
    assert trace[3].outcome is tcuq.Outcome(int(trace.outcome[3]))


def test_a_request_is_risk_at_or_above_the_threshold(
    monitor: tcuq.reference.ReferenceMonitor,
) -> None:
    """Outcome is ACCEPT exactly where risk is below the trace's threshold."""
    stream = demo_stream("fault_clipping")
    trace = monitor.run(stream.posteriors, stream.features)
    requested = trace.risk >= trace.threshold
    assert ((trace.outcome != tcuq.Outcome.ACCEPT) == requested).all()
    assert {0, 1, 2} == set(trace.outcome.tolist())


def test_no_steps_give_an_empty_trace(monitor: tcuq.reference.ReferenceMonitor) -> None:
    """Zero steps are not an error."""
    assert len(monitor.run(np.empty((0, 10)), np.empty((0, 32)))) == 0


def test_bad_step_changes_nothing(monitor: tcuq.reference.ReferenceMonitor) -> None:
    """A refused step leaves the monitor as it was."""
    stream = demo_stream("test")
    monitor.run(stream.posteriors[:50], stream.features[:50])  # type: ignore[index]
    other = copy.deepcopy(monitor)
    with pytest.raises(InputError, match="finite"):
        monitor.step(np.full(7, np.nan), np.zeros(32))
    with pytest.raises(InputError, match="one dimension"):
        monitor.step(np.zeros((1, 7)), np.zeros(32))
    step = stream.posteriors[50], stream.features[50]  # type: ignore[index]
    assert monitor.step(*step) == other.step(*step)


def test_starts_reset_history(monitor: tcuq.reference.ReferenceMonitor) -> None:
    """Run with starts is run, reset_history, run."""
    stream = demo_stream("test")
    assert stream.features is not None
    whole = monitor.run(stream.posteriors[:600], stream.features[:600], starts=[0, 300])
    other = tcuq.reference.ReferenceMonitor(demo_profile())
    first = other.run(stream.posteriors[:300], stream.features[:300])
    other.reset_history()
    second = other.run(stream.posteriors[300:600], stream.features[300:600])
    for name in tcuq.Trace.__slots__:
        halves = np.concatenate([getattr(first, name), getattr(second, name)])
        assert (getattr(whole, name) == halves).all()


def test_reset_is_a_new_monitor(monitor: tcuq.reference.ReferenceMonitor) -> None:
    """After reset the state is a new monitor's."""
    stream = demo_stream("fault_clipping")
    first = monitor.run(stream)
    monitor.reset()
    again = monitor.run(stream)
    for name in tcuq.Trace.__slots__:
        assert (getattr(first, name) == getattr(again, name)).all()


def test_epoch_evidence_grows_under_a_fault(monitor: tcuq.reference.ReferenceMonitor) -> None:
    """In distribution the epoch's evidence is small; under a fault it is large."""
    monitor.run(demo_stream("test"))
    assert monitor.epoch_evidence_bits < 8
    assert (monitor.epoch, monitor.closed_evidence_bits) == (0, None)
    monitor.run(demo_stream("fault_clipping"))
    assert monitor.epoch_evidence_bits > 20
