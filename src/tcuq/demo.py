# SPDX-License-Identifier: Apache-2.0
"""The bundled data: keyword streams with people and microphone faults absent from calibration."""

import warnings
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise

import numpy as np

from tcuq.calibrate import fit
from tcuq.decision import Trace
from tcuq.errors import CalibrationWarning
from tcuq.evaluate import Comparison, compare
from tcuq.evaluate.measures import detection_delays
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.stages.budget import Outcome
from tcuq.stream import Stream

FAULTS = ("noise_low", "noise_high", "microphone", "clipping", "dropout", "offset", "hum")
STREAMS = ("calibration", "development", "test", *(f"fault_{name}" for name in FAULTS))
BARS = "▁▂▃▄▅▆▇█"
PICTURE_COLUMNS = 72
PICTURE_SPAN = ("hum", slice(0, 960))


@cache
def demo_stream(name: str) -> Stream:
    """Load a bundled stream: calibration, development, test or fault_<name>."""
    with resources.as_file(resources.files("tcuq").joinpath(f"data/keywords/{name}.npz")) as path:
        return Stream.load(path)


@cache
def demo_profile() -> Profile:
    """Fit the recommended profile on the bundled calibration stream; findings hold its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return fit(demo_stream("calibration"))


@dataclass(frozen=True, slots=True)
class Effect:
    """A fault's effect on classifier and monitor, against the same steps without the fault."""

    fault: str
    steps: int
    accuracy_clean: float
    accuracy: float
    withheld_clean: float
    withheld: float
    error_accepted: float
    softmax_withheld: float
    softmax_error_accepted: float
    onsets: int
    caught: int
    median_delay_steps: float | None


@dataclass(frozen=True, slots=True)
class Demonstration:
    """The profile, its trace of the test stream, and the effect and trace of every fault.

    ``comparison`` sets the monitor beside a softmax threshold, on the test stream.
    """

    profile: Profile
    test: Trace
    comparison: Comparison
    effects: tuple[Effect, ...]
    traces: tuple[Trace, ...]


def demonstrate() -> Demonstration:
    """Fit on the calibration stream, run over the test stream and over every fault."""
    profile = demo_profile()
    test = Monitor(profile).run(demo_stream("test"))
    traces = tuple(Monitor(profile).run(demo_stream(f"fault_{fault}")) for fault in FAULTS)
    effects = tuple(
        _effect(fault, trace, test) for fault, trace in zip(FAULTS, traces, strict=True)
    )
    comparison = compare(profile, demo_stream("test"), test)
    return Demonstration(profile, test, comparison, effects, traces)


def _effect(fault: str, trace: Trace, clean: Trace) -> Effect:
    stream = demo_stream(f"fault_{fault}")
    assert stream.shifted is not None  # noqa: S101 - for the type checker: bundled data has it
    assert stream.labels is not None  # noqa: S101
    at = stream.shifted
    known = at & (stream.labels >= 0)
    right = trace.label == stream.labels
    accepted = known & (trace.outcome == Outcome.ACCEPT)
    softmax = compare(demo_profile(), stream, trace, at).softmax
    assert softmax is not None  # noqa: S101 - a profile that was just fitted has it
    delays = detection_delays(trace.alarm > 0, at)
    caught = delays[np.isfinite(delays)]
    return Effect(
        fault=fault,
        steps=int(at.sum()),
        accuracy_clean=float((clean.label == stream.labels)[known].mean()),
        accuracy=float(right[known].mean()),
        withheld_clean=float((clean.outcome[at] != Outcome.ACCEPT).mean()),
        withheld=float((trace.outcome[at] != Outcome.ACCEPT).mean()),
        error_accepted=float(1 - right[accepted].mean()) if accepted.any() else 0.0,
        softmax_withheld=softmax.withheld,
        softmax_error_accepted=softmax.error,
        onsets=len(delays),
        caught=len(caught),
        median_delay_steps=float(np.median(caught)) if len(caught) else None,
    )


def picture(stream: Stream, trace: Trace, span: slice) -> list[str]:
    """Draw a span of steps as text: mean risk, where the fault acts, requests and alarms."""
    edges = np.linspace(span.start, span.stop, PICTURE_COLUMNS + 1).astype(int)
    cells = [slice(a, b) for a, b in pairwise(edges)]
    risk = [trace.risk[cell].mean() for cell in cells]
    shifted = stream.shifted if stream.shifted is not None else np.zeros(len(stream), np.bool_)
    top = max(*risk, trace.threshold[span].max())
    strip = "".join(BARS[min(7, int(8 * value / top))] for value in risk)
    fault = "".join("═" if shifted[cell].any() else "·" for cell in cells)
    rates = [(trace.outcome[cell] != Outcome.ACCEPT).mean() for cell in cells]
    requests = "".join(" ░▒▓█"[min(4, int(np.ceil(4 * rate)))] for rate in rates)
    alarm = "".join("▲" if trace.alarm[cell].any() else " " for cell in cells)
    return [f"risk   {strip}", f"fault  {fault}", f"held   {requests}", f"alarm  {alarm}"]
