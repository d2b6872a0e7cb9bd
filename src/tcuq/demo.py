# SPDX-License-Identifier: Apache-2.0
"""The recorded stream in the box: people it never saw, sensor faults it was not told of."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise

import numpy as np

from tcuq.budget import Outcome
from tcuq.calibrate import fit
from tcuq.evaluate import run_serviced
from tcuq.evaluate.measures import detection_delays
from tcuq.monitor import Trace
from tcuq.profile import Profile
from tcuq.recording import load_stream
from tcuq.stream import Stream

FAULTS = ("noise", "gain", "bias", "rotation", "dropout", "stuck")
STREAMS = ("calibration", "development", "test", *(f"fault_{name}" for name in FAULTS))
BARS = "▁▂▃▄▅▆▇█"
PICTURE_COLUMNS = 72


@cache
def demo_stream(name: str) -> Stream:
    """One of the streams in the box: calibration, development, test or fault_<name>."""
    with resources.as_file(resources.files("tcuq").joinpath(f"data/hapt/{name}.npz")) as path:
        return load_stream(path)


@cache
def demo_profile() -> Profile:
    """The recommended profile of the calibration stream in the box."""
    return fit(demo_stream("calibration"), verbose=False)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a stream did to the classifier, and what the monitor made of it."""

    stream: str
    steps: int
    accuracy: float
    asked: float
    error_accepted: float
    alarms: int
    onsets: int
    caught: int
    median_delay_steps: float | None


def effects(profile: Profile) -> Iterator[tuple[Effect, Stream, Trace]]:
    """The effect of every stream: in distribution first, then after the onset of each fault."""
    for name in ("test", *(f"fault_{fault}" for fault in FAULTS)):
        stream = demo_stream(name)
        trace = run_serviced(profile, stream)
        yield _effect(name, stream, trace), stream, trace


def _effect(name: str, stream: Stream, trace: Trace) -> Effect:
    shifted = stream.shifted if stream.shifted is not None else np.zeros(len(stream), np.bool_)
    labels = stream.labels if stream.labels is not None else np.full(len(stream), -1)
    at = shifted if shifted.any() else ~shifted
    known = at & (labels >= 0)
    wrong = trace.label != labels
    accepted = known & (trace.outcome == Outcome.ACCEPT)
    delays = detection_delays(trace.alarm > 0, shifted)
    caught = np.isfinite(delays)
    return Effect(
        stream=name,
        steps=int(at.sum()),
        accuracy=float(1 - wrong[known].mean()),
        asked=float((trace.outcome[at] != Outcome.ACCEPT).mean()),
        error_accepted=float(wrong[accepted].mean()) if accepted.any() else 0.0,
        alarms=int((trace.alarm[at] > 0).sum()),
        onsets=len(delays),
        caught=int(caught.sum()),
        median_delay_steps=float(np.median(delays[caught])) if caught.any() else None,
    )


def picture(stream: Stream, trace: Trace, recording: int) -> list[str]:
    """One recording as a strip: mean risk, where the fault acts, and the alarms."""
    bounds = [*stream.starts.tolist(), len(stream)]
    span = slice(bounds[recording], bounds[recording + 1])
    edges = np.linspace(span.start, span.stop, PICTURE_COLUMNS + 1).astype(int)
    cells = [slice(a, b) for a, b in pairwise(edges)]
    risk = [trace.risk[cell].mean() for cell in cells]
    shifted = stream.shifted if stream.shifted is not None else np.zeros(len(stream), np.bool_)
    top = max(*risk, trace.threshold[span].max())
    strip = "".join(BARS[min(7, int(8 * value / top))] for value in risk)
    fault = "".join("═" if shifted[cell].any() else "·" for cell in cells)
    asked = [(trace.outcome[cell] != Outcome.ACCEPT).mean() for cell in cells]
    ask = "".join(" ░▒▓█"[min(4, int(np.ceil(4 * share)))] for share in asked)
    alarm = "".join("▲" if trace.alarm[cell].any() else " " for cell in cells)
    return [f"risk   {strip}", f"fault  {fault}", f"asks   {ask}", f"alarm  {alarm}"]
