# SPDX-License-Identifier: Apache-2.0
"""What the streams of a fit must have."""

import numpy as np

from tcuq._columns import OUT_OF_DISTRIBUTION
from tcuq.errors import FitError
from tcuq.options import FitOptions
from tcuq.stream import Stream, require_stream

FEWEST_STEPS = 256


def check_streams(
    calibration: Stream, development: Stream | None, stress: Stream | None, options: FitOptions
) -> None:
    """Refuse streams that no profile can be fitted on."""
    require_stream(calibration, "calibration")
    if calibration.labels is not None and (calibration.labels == OUT_OF_DISTRIBUTION).any():
        step = int(np.argmax(calibration.labels == OUT_OF_DISTRIBUTION))
        raise FitError(
            f"calibration must be in distribution, got a step labelled {OUT_OF_DISTRIBUTION}"
            f" (out of distribution), {step}: move such steps to development"
        )
    if len(calibration) < FEWEST_STEPS:
        raise FitError(
            f"calibration must have at least {FEWEST_STEPS} steps, got {len(calibration)}"
        )
    longest, lag = max(len(part) for part in calibration.recordings()), max(options.lags)
    if longest <= lag:
        raise FitError(
            f"a recording of calibration must be longer than the longest lag, {lag} steps,"
            f" got {longest} at most"
        )
    _check_others(calibration, development, stress, options)


def _check_others(
    calibration: Stream, development: Stream | None, stress: Stream | None, options: FitOptions
) -> None:
    if options.paper.score == "tcuq" and development is None:
        raise FitError(
            'score="tcuq" needs a development stream with labels;'
            ' give development=, or use score="anchored"'
        )
    if development is not None and stress is not None:
        raise FitError("development and stress both give weights: give one of them")
    if stress is not None and options.paper.score == "tcuq":
        raise FitError('stress weighs novelty, which score="tcuq" has not: give development')
    if stress is not None and stress.classes == 0:
        raise FitError("stress weighs changed predictions of classes, and there are none")
    if options.paper.score == "tcuq" and calibration.classes == 0:
        raise FitError('score="tcuq" is of classes, and there are none: use the preset recommended')
    for name, stream in (("development", development), ("stress", stress)):
        if stream is None:
            continue
        require_stream(stream, name)
        for member in ("kind", "classes", "width"):
            ours, theirs = getattr(calibration, member), getattr(stream, member)
            if ours != theirs:
                raise FitError(f"{name} must have {member} {ours!r} as calibration, got {theirs!r}")
