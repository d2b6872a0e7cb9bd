# SPDX-License-Identifier: Apache-2.0
"""The development stream in two, by time: a fitting part, a gap, and a judging part."""

import numpy as np

from tcuq.errors import FitError
from tcuq.stream import Stream

FITTING_SHARE = 0.6
FEWEST_STEPS = 256  # of usual steps in either part


def fitting_part(stream: Stream) -> Stream:
    """The first steps."""
    part = stream.cut(0, int(FITTING_SHARE * len(stream)))
    _check("fitting", part)
    return part


def judging_part(stream: Stream, gap: int) -> Stream:
    """What follows the fitting part and a gap."""
    begin = int(FITTING_SHARE * len(stream)) + gap
    if begin >= len(stream):
        raise FitError(
            f"a gap of {gap} steps, the alarm's longest block, leaves nothing of the last"
            f" {len(stream) - begin + gap} steps to judge on; give a longer stream"
        )
    part = stream.cut(begin, len(stream))
    _check("judging", part)
    return part


def usual(stream: Stream) -> Stream:
    """The steps not marked as shifted; where some are left out a new recording begins."""
    if stream.shifted is None or not stream.shifted.any():
        return stream
    kept = ~stream.shifted
    begins = np.zeros(len(stream), np.bool_)
    begins[stream.starts] = True
    begins[1:] |= stream.shifted[:-1]
    return Stream(
        stream.posteriors[kept],
        None if stream.features is None else stream.features[kept],
        None if stream.labels is None else stream.labels[kept],
        kind=stream.kind,
        starts=np.flatnonzero(begins[kept]),
    )


def _check(name: str, part: Stream) -> None:
    steps = len(part) if part.shifted is None else int((~part.shifted).sum())
    if steps < FEWEST_STEPS:
        raise FitError(
            f"the {name} part must hold at least {FEWEST_STEPS} steps that are not shifted,"
            f" got {steps}; give a longer stream"
        )
