# SPDX-License-Identifier: Apache-2.0
"""The data behind the page: the recorded stream, and one view of it per profile."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import UNKNOWN
from tcuq.calibrate.observe import observe
from tcuq.decision import Trace
from tcuq.errors import InputError
from tcuq.evaluation import Evaluation, evaluate
from tcuq.evaluation.measures import accuracy_and_floor
from tcuq.profile import Profile
from tcuq.stages.columns import SignalColumns, concatenate
from tcuq.stream import Stream

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MAX_PROFILES = 6


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One profile on the stream: its decisions, and which predictions were wrong.

    ``accuracy`` is over the last ``window`` steps, NaN where it is unknown; ``floor`` lies three
    standard deviations below its mean without shifts.
    """

    name: str
    profile: Profile
    stream: Stream
    window: int
    evaluation: Evaluation
    signals: SignalColumns
    known: Bools
    wrong: Bools
    shifted: Bools
    accuracy: Floats
    floor: float

    @property
    def trace(self) -> Trace:
        """The decision at every step."""
        return self.evaluation.trace

    @property
    def accepted(self) -> Bools:
        """Steps whose prediction was accepted."""
        return ~self.trace.withheld

    @property
    def missed(self) -> Bools:
        """Steps that were accepted and wrong."""
        return self.accepted & self.wrong


def views(
    profiles: Mapping[str, Profile], stream: Stream, *, window: int, rounds: int
) -> list[View]:
    """Run every profile over the stream, once, without resets."""
    if not 1 <= len(profiles) <= MAX_PROFILES:
        raise InputError(f"a report must have 1 to {MAX_PROFILES} profiles, got {len(profiles)}")
    steps = len(stream)
    labels = stream.labels if stream.labels is not None else np.full(steps, UNKNOWN, np.int32)
    known = labels != UNKNOWN
    shifted = stream.shifted if stream.shifted is not None else np.zeros(steps, np.bool_)
    shown = []
    for name, profile in profiles.items():
        evaluation = evaluate(profile, stream, window=window, rounds=rounds)
        right = evaluation.trace.label == labels
        accuracy, floor = accuracy_and_floor(right, known, shifted, stream.starts, window)
        shown.append(
            View(
                name=name,
                profile=profile,
                stream=stream,
                window=window,
                evaluation=evaluation,
                signals=concatenate(observe(stream, profile.inputs, profile.signals)),
                known=known,
                wrong=known & ~right,
                shifted=shifted,
                accuracy=accuracy,
                floor=floor,
            )
        )
    return shown
