# SPDX-License-Identifier: Apache-2.0
import copy
import pickle
import sys

import numpy as np
import pytest

import tcuq
from tcuq.decision import Trace, joined_traces
from tcuq.demo import demo_stream
from tcuq.errors import MissingExtraError
from tcuq.profile.settings import AlarmFlag


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
    """Each step with an alarm is there, with its cause in words."""
    assert list(trace.alarms) == np.flatnonzero(trace.alarm).tolist() != []
    alarm = np.array([AlarmFlag.RISK, 0, AlarmFlag.HEALTH, AlarmFlag.NOVELTY | 128], np.uint8)
    columns = {n: np.zeros(4, getattr(trace, n).dtype) for n in Trace.__slots__}
    columns |= {"alarm": alarm, "cause": np.array([0, 0, 1, 0], np.uint8)}
    named = Trace(**columns, health_names=("level", "roughness"))
    assert named.alarms == {0: "risk", 2: "input health: roughness", 3: "novelty since boot"}
    assert named[2].cause == "input health: roughness"


def test_flags_print_as_words() -> None:
    """Text and formatting are words; numbers stay the device's."""
    flags = AlarmFlag.RISK | AlarmFlag.NOVELTY
    assert str(flags) == f"{flags}" == "risk, novelty"
    assert str(AlarmFlag(0)) == "none"
    assert f"{AlarmFlag.NOVELTY:>9}" == "  novelty"
    assert int(flags) == 3


def test_repr_is_one_short_line(trace: Trace) -> None:
    """It counts outcomes and alarms."""
    accept, abstain, denied = np.bincount(trace.outcome)
    assert min(accept, abstain, denied) > 0
    assert repr(trace) == (
        f"Trace(1,920 steps: {accept} accept, {abstain} abstain, {denied} denied;"
        f" {len(trace.alarms)} alarms)"
    )
    assert repr(trace[:0]) == "Trace(0 steps: 0 accept, 0 abstain, 0 denied; 0 alarms)"


def test_notebooks_show_a_table(trace: Trace) -> None:
    """The table has shares and the first alarms."""
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
