# SPDX-License-Identifier: Apache-2.0
"""A promise on the accepted error is void from an alarm on, and every tool says so."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import tcuq
from tcuq.cli import main
from tcuq.demo import demo_stream
from tcuq.reference import ReferenceMonitor
from tcuq.reports.promises import promises
from tcuq.reports.view import views
from tcuq.stages.budget import Outcome
from tcuq.telemetry import decode
from tcuq.watch import Step, Tally
from tcuq.watch.view import events
from tests.fixtures.conformance import promised_profile
from tests.fixtures.terminal import rendered

FAULT = Path(tcuq.__file__).parent / "data/keywords/fault_clipping.npz"


def test_trace_and_monitor() -> None:
    """Accepted steps are promised until the first alarm; a snapshot keeps that, a reset ends it."""
    stream = demo_stream("fault_clipping")
    monitor = tcuq.Monitor(promised_profile())
    assert monitor.promise.startswith("of what it accepts at most 5 % is wrong")
    trace = monitor.run(stream)
    first = next(iter(trace.alarms))
    accepted = trace.outcome == Outcome.ACCEPT
    assert (trace.promised[:first] == accepted[:first]).all()
    assert accepted[first:].any()
    assert not trace.promised[first:].any()
    assert monitor.promise.startswith("void since an alarm")
    other = tcuq.Monitor(promised_profile())
    other.restore(monitor.snapshot())
    assert other.promise.startswith("void since an alarm")
    assert not other.run(stream[:50]).promised.any()
    other.reset()
    assert not other.alarm_stands
    assert other.run(stream[:50]).promised.any()


def test_steps_and_reference_agree() -> None:
    """Step by step, and in float, the same steps are promised."""
    stream = demo_stream("fault_clipping")
    trace = tcuq.Monitor(promised_profile()).run(stream)
    monitor = tcuq.Monitor(promised_profile())
    assert stream.features is not None
    assert stream.health is not None
    first = next(iter(trace.alarms))
    starts = set(stream.starts.tolist())
    for step in range(first + 2):
        if step in starts:
            monitor.reset_history()
        decision = monitor.step(stream.posteriors[step], stream.features[step], stream.health[step])
        assert decision.promised == trace.promised[step]
    reference = ReferenceMonitor(promised_profile()).run(stream)
    before = np.arange(len(stream)) < min(first, next(iter(reference.alarms)))
    same = reference.outcome == trace.outcome
    assert (reference.promised == trace.promised)[before & same].all()
    assert not reference.promised[next(iter(reference.alarms)) :].any()


def test_without_a_promise_nothing_is_promised(profile: tcuq.Profile) -> None:
    """A profile without a promise marks no step, and the monitor says why."""
    monitor = tcuq.Monitor(profile)
    assert not monitor.run(demo_stream("test")).promised.any()
    assert "without accepted_error" in monitor.promise


def test_record() -> None:
    """The cause in a record says that the promise is void."""
    monitor = tcuq.Monitor(promised_profile())
    for stream, void in (("test", False), ("fault_clipping", True)):
        monitor.run(demo_stream(stream))
        record = monitor.record(device=1, firmware=1, boot=1, sequence=0)
        assert decode(record).promise_void.tolist() == [void]


def test_watch() -> None:
    """The panel has the promise until an alarm; an alarm's line says that it ends."""
    stream = demo_stream("fault_clipping")
    assert stream.features is not None
    assert stream.health is not None
    tally = Tally(promised_profile())
    assert "of what it accepts at most 5 %" in rendered(tally, "")
    lines: list[str] = []
    for step in range(len(stream)):
        inputs = Step(stream.posteriors[step], stream.features[step], stream.health[step])
        decision = tally.update(inputs)
        assert decision is not None
        lines += events(tally, decision)
        if lines:
            break
    assert lines[0].endswith(", promise void")
    assert re.search(r"^promise +void since an alarm", rendered(tally, ""), re.MULTILINE)


def test_report() -> None:
    """The report counts covered steps alone, and names the alarm and denied steps."""
    view = views({"a": promised_profile()}, demo_stream("fault_clipping"), window=100, rounds=0)[0]
    by_name = {promise.promise.split(":")[0]: promise for promise in promises(view)}
    assert "Void since the alarm at step" in by_name["Accepted error"].evidence
    assert "DENIED steps" in by_name["Accepted error"].evidence
    assert "the threshold is fixed" in by_name["Exceedances"].promise


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`fit` makes the promise, `inspect` and `run` print it, `run` with the step that ends it."""
    demo_stream("calibration").save(tmp_path / "calibration.npz")
    profile = str(tmp_path / "monitor.json")
    options = ["--accepted-error", "0.05", "--confidence", "0.95", "--independent", "steps"]
    assert main(["fit", str(tmp_path / "calibration.npz"), "-o", profile, *options]) == 0
    assert main(["inspect", profile]) == 0
    assert "promise    of what it accepts at most 5 %" in capsys.readouterr().out
    assert main(["run", profile, str(FAULT)]) == 0
    assert "; void since step" in capsys.readouterr().out
    assert main(["run", profile, str(FAULT), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["promised"] > 0
