# SPDX-License-Identifier: Apache-2.0
"""What the page is made from: a stream as it was recorded, and each profile's view of it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcuq.calibrate.observe import observe
from tcuq.decision import Trace
from tcuq.errors import InputError
from tcuq.evaluate import Evaluation, evaluate, run_serviced
from tcuq.evaluate.measures import accuracy_and_floor
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.stages.budget import Outcome
from tcuq.stages.columns import SignalColumns, joined
from tcuq.stream import Stream

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MAX_PROFILES = 6


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One profile on the stream: what the device would have done, and what came of it.

    ``reference`` is the float monitor's trace; ``accuracy`` is over the last ``window`` steps, NaN
    where it is not known, and ``floor`` what it usually stays above.
    """

    name: str
    profile: Profile
    stream: Stream
    window: int
    found: Evaluation
    reference: Trace
    signals: SignalColumns
    known: Bools
    wrong: Bools
    shifted: Bools
    accuracy: Floats
    floor: float

    @property
    def trace(self) -> Trace:
        """What the device would have said."""
        return self.found.trace

    @property
    def accepted(self) -> Bools:
        """Steps whose prediction would have been used."""
        accepted: Bools = self.trace.outcome == Outcome.ACCEPT
        return accepted

    @property
    def missed(self) -> Bools:
        """Steps that were accepted and wrong."""
        return self.accepted & self.wrong


def views(
    profiles: Mapping[str, Profile], stream: Stream, *, window: int, rounds: int
) -> list[View]:
    """Run every profile over the stream; the page holds a few of them."""
    if not 1 <= len(profiles) <= MAX_PROFILES:
        raise InputError(f"a report must have 1 to {MAX_PROFILES} profiles, got {len(profiles)}")
    steps = len(stream)
    labels = stream.labels if stream.labels is not None else np.full(steps, -1, np.int32)
    known = labels >= 0
    shifted = stream.shifted if stream.shifted is not None else np.zeros(steps, np.bool_)
    made = []
    for name, profile in profiles.items():
        found = evaluate(profile, stream, window=window, rounds=rounds, engine=Monitor)
        right = found.trace.label == labels
        accuracy, floor = accuracy_and_floor(right, known, shifted, stream.starts, window)
        made.append(
            View(
                name=name,
                profile=profile,
                stream=stream,
                window=window,
                found=found,
                reference=run_serviced(profile, stream),
                signals=joined(observe(stream, profile.inputs, profile.signals)),
                known=known,
                wrong=known & ~right,
                shifted=shifted,
                accuracy=accuracy,
                floor=floor,
            )
        )
    return made
