# SPDX-License-Identifier: Apache-2.0
"""Split of the development stream by time: a training part, a gap and a validation part."""

import numpy as np

from tcuq.errors import FitError
from tcuq.stream import Stream

TRAINING_SHARE = 0.6
MIN_STEPS = 256  # that are not shifted, in either part


def training_part(stream: Stream) -> Stream:
    """The first 60 % of the steps."""
    part = stream[: max(1, int(TRAINING_SHARE * len(stream)))]
    _check("training", part)
    return part


def validation_part(stream: Stream, gap: int) -> Stream:
    """The steps after the training part and a gap."""
    begin = int(TRAINING_SHARE * len(stream)) + gap
    if begin >= len(stream):
        raise FitError(
            f"a gap of {gap} steps, the alarm's longest block, leaves none of the last"
            f" {len(stream) - begin + gap} steps for validation; give a longer stream"
        )
    part = stream[begin:]
    _check("validation", part)
    return part


def unshifted(stream: Stream) -> Stream:
    """The steps that are not marked as shifted; a new recording begins after each gap."""
    if stream.shifted is None or not stream.shifted.any():
        return stream
    keep = ~stream.shifted
    begins = np.zeros(len(stream), np.bool_)
    begins[stream.starts] = True
    begins[1:] |= stream.shifted[:-1]
    return Stream(
        stream.posteriors[keep],
        None if stream.features is None else stream.features[keep],
        None if stream.labels is None else stream.labels[keep],
        classes=stream.class_names,
        kind=stream.kind,
        starts=np.flatnonzero(begins[keep]),
        health=None if stream.health is None else stream.health[keep],
        health_names=None if stream.health is None else stream.health_names,
    )


def _check(name: str, part: Stream) -> None:
    steps = len(part) if part.shifted is None else int((~part.shifted).sum())
    if steps < MIN_STEPS:
        raise FitError(
            f"the {name} part must hold at least {MIN_STEPS} steps that are not shifted,"
            f" got {steps}; give a longer stream"
        )
