# SPDX-License-Identifier: Apache-2.0
"""A stream seen through the signals, recording by recording."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tcuq.calibrate.novelty import fit_novelty, novelty_out_of_fold
from tcuq.columns import SignalColumns, joined
from tcuq.inputs import Inputs
from tcuq.progress import Progress
from tcuq.settings import InputSettings, SignalSettings
from tcuq.signals import Signals
from tcuq.stream import Stream

Parts = Sequence[SignalColumns]

CHUNK_STEPS = 1024  # bounds the memory of a long recording


def observe(stream: Stream, inputs: InputSettings, settings: SignalSettings) -> Parts:
    """The signals of each recording."""
    converter, signals = Inputs(inputs), Signals(settings, inputs)
    parts = []
    with Progress("signals of steps", total=len(stream)) as progress:
        for part in stream.parts():
            signals.reset_history()
            chunks = []
            for begin in range(0, len(part), CHUNK_STEPS):
                chunk = part.cut(begin, min(begin + CHUNK_STEPS, len(part)))
                chunks.append(signals.run(*converter.run(chunk.posteriors, chunk.features)))
                progress.advance(len(chunk))
            parts.append(joined(chunks))
    return parts


def observe_calibration(
    stream: Stream, inputs: InputSettings, lags: tuple[int, ...], blend: float
) -> tuple[SignalSettings, Parts]:
    """Signal settings learned from the calibration stream, and its signals, novelty out of fold."""
    settings = SignalSettings(lags, blend, novelty=None)
    parts = observe(stream, inputs, settings)
    if inputs.width == 0:
        return settings, parts
    _, features = Inputs(inputs).run(stream.posteriors, stream.features)
    assert features is not None  # noqa: S101 - the width says so; for the type checker
    labels = reference_labels(stream, parts)
    lengths = [len(part.label) for part in parts]
    novelty = np.split(novelty_out_of_fold(features, labels, lengths), np.cumsum(lengths)[:-1])
    seen = [replace(part, novelty=column) for part, column in zip(parts, novelty, strict=True)]
    return replace(settings, novelty=fit_novelty(features, labels)), seen


def reference_labels(stream: Stream, parts: Parts) -> NDArray[np.int32]:
    """The true class where it is known, else the predicted one."""
    predicted = np.concatenate([part.label for part in parts])
    if stream.labels is None:
        return predicted
    return np.where(stream.labels >= 0, stream.labels, predicted)
