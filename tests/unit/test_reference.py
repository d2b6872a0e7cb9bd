# SPDX-License-Identifier: Apache-2.0
"""The float reference, and the decisions and traces that both monitors give."""

import copy
import pickle
import sys

import numpy as np
import pytest

import tcuq
import tcuq.reference
from tcuq.decision import Trace, joined_traces
from tcuq.demo import demo_profile, demo_stream
from tcuq.errors import InputError, MissingExtraError
from tcuq.profile.settings import AlarmFlag


@pytest.fixture
def monitor() -> tcuq.reference.ReferenceMonitor:
    """Return a new monitor of the demo's profile."""
    return tcuq.reference.ReferenceMonitor(demo_profile())


def test_decision_names_are_the_traces(monitor: tcuq.reference.ReferenceMonitor) -> None:
    """A trace has a decision's names, one array each; zero steps give an empty one."""
    stream = demo_stream("test")
    trace = monitor.run(stream.posteriors[:10], stream.features[:10])  # type: ignore[index]
    assert list(tcuq.Trace.__slots__) == list(tcuq.Decision.__slots__)
    assert isinstance(trace[3], tcuq.Decision)
    assert trace[3].outcome is tcuq.Outcome(int(trace.outcome[3]))
    assert len(monitor.run(np.empty((0, 10)), np.empty((0, 32)))) == 0


def test_a_request_is_risk_at_or_above_the_threshold(
    monitor: tcuq.reference.ReferenceMonitor,
) -> None:
    """Outcome is ACCEPT exactly where risk and novelty are below their thresholds."""
    stream = demo_stream("fault_clipping")
    trace = monitor.run(stream.posteriors, stream.features)
    limit = monitor.profile.threshold.novelty_limit
    assert limit is not None
    requested = (trace.risk >= trace.threshold) | (trace.novelty >= limit)
    assert ((trace.outcome != tcuq.Outcome.ACCEPT) == requested).all()
    assert {0, 1, 2} == set(trace.outcome.tolist())


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


def test_starts_reset_history_and_reset_everything(
    monitor: tcuq.reference.ReferenceMonitor,
) -> None:
    """Run with starts is run, reset_history, run; after reset the state is a new monitor's."""
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
    stream = demo_stream("fault_clipping")
    monitor.reset()
    again = monitor.run(stream)
    first = tcuq.reference.ReferenceMonitor(demo_profile()).run(stream)
    for name in tcuq.Trace.__slots__:
        assert (getattr(first, name) == getattr(again, name)).all()


def test_epoch_evidence_grows_under_a_fault(monitor: tcuq.reference.ReferenceMonitor) -> None:
    """In distribution the epoch's evidence is small; under a fault it is large."""
    monitor.run(demo_stream("test"))
    assert monitor.epoch_evidence_bits < 8
    assert (monitor.epoch, monitor.closed_evidence_bits) == (0, None)
    monitor.run(demo_stream("fault_clipping"))
    assert monitor.epoch_evidence_bits > 20


@pytest.fixture(scope="module")
def trace(profile: tcuq.Profile) -> Trace:
    """Run the monitor over the demo's failing sensor."""
    return tcuq.Monitor(profile).run(demo_stream("fault_clipping"))


def same(one: Trace, other: Trace) -> bool:
    """Whether two traces hold the same values."""
    return all(np.array_equal(getattr(one, n), getattr(other, n)) for n in Trace.__slots__)


def test_an_index_is_a_decision(trace: Trace) -> None:
    """Positive, negative and NumPy integers name the same steps."""
    last = len(trace) - 1
    assert trace[last] == trace[-1] == trace[np.int64(last)] == trace[np.uint16(last)]
    assert isinstance(trace[3], tcuq.Decision)
    assert trace[3].risk == trace.risk[3]
    assert repr(trace[3]).startswith("Decision(label=")
    with pytest.raises(IndexError):
        trace[len(trace)]
    with pytest.raises(TypeError):
        trace["a"]  # type: ignore[call-overload]
    assert len(list(trace[:9])) == 9  # type: ignore[call-overload]


def test_a_slice_is_a_trace(trace: Trace) -> None:
    """A slice has every array's slice, and concatenated slices are the trace."""
    piece = trace[10:20]
    assert isinstance(piece, Trace)
    assert len(piece) == 10
    assert piece[0] == trace[10]
    assert len(trace[-5:]) == 5
    assert len(trace[5:5]) == 0
    assert same(joined_traces([trace[:1000], trace[1000:]]), trace)


def test_alarms_have_steps_and_names(trace: Trace) -> None:
    """Each step with an alarm has its cause in words; numbers stay the device's."""
    assert list(trace.alarms) == np.flatnonzero(trace.alarm).tolist() != []
    alarm = np.array([AlarmFlag.RISK, 0, AlarmFlag.HEALTH, AlarmFlag.NOVELTY | 128], np.uint8)
    columns = {n: np.zeros(4, getattr(trace, n).dtype) for n in Trace.__slots__}
    columns |= {"alarm": alarm, "cause": np.array([0, 0, 2, 0], np.uint8)}
    named = Trace(**columns, health_names=("level", "roughness"))
    assert named.alarms == {0: "risk", 2: "input health: roughness", 3: "novelty since boot"}
    assert named[2].cause == "input health: roughness"
    flags = AlarmFlag.RISK | AlarmFlag.NOVELTY
    assert str(flags) == f"{flags}" == "risk, novelty"
    assert str(AlarmFlag(0)) == "none"
    assert f"{AlarmFlag.NOVELTY:>9}" == "  novelty"
    assert int(flags) == 3


def test_text_and_table_count_outcomes_and_alarms(trace: Trace) -> None:
    """The repr is one line with counts; the table has shares and the first alarms."""
    accept, abstain, denied = np.bincount(trace.outcome)
    assert min(accept, abstain, denied) > 0
    assert repr(trace) == (
        f"Trace(1,920 steps: {accept:,} accept, {abstain} abstain, {denied} denied;"
        f" {len(trace.alarms)} alarms)"
    )
    assert repr(trace[:0]) == "Trace(0 steps: 0 accept, 0 abstain, 0 denied; 0 alarms)"
    shown = trace._repr_html_()
    first, cause = next(iter(trace.alarms.items()))
    for part in (f"{len(trace):,}", f"{first:,} ({cause})"):
        assert part in shown
    many = copy.deepcopy(trace)
    many.alarm[:4] = AlarmFlag.DIVERGENCE
    more = len(many.alarms) - 5
    assert f"3 (divergence), {first:,} ({cause}), and {more} more" in many._repr_html_()
    assert "none" in trace[:0]._repr_html_()


@pytest.mark.parametrize("how", ["pickle", "copy", "deepcopy"])
def test_copies_are_traces(trace: Trace, how: str) -> None:
    """A pickled or copied trace has the same values; a deep copy has its own arrays."""
    copied = {"pickle": lambda t: pickle.loads(pickle.dumps(t)), **vars(copy)}  # noqa: S301 - ours
    other = copied[how](trace)
    assert same(other, trace)
    assert other != trace
    assert (other.risk is trace.risk) == (how == "copy")


@pytest.mark.parametrize(
    ("method", "library", "extra"),
    [("to_pandas", "pandas", "pandas"), ("to_arrow", "pyarrow", "parquet")],
)
def test_a_missing_library_is_named(
    trace: Trace, method: str, library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says which extra to install."""
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'tcuq\[{extra}\]'"):
        getattr(trace, method)()
