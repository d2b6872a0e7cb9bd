# SPDX-License-Identifier: Apache-2.0
"""Orders of a labelled stream: weights must hold for a field that dwells longer on each class."""

import numpy as np
from numpy.typing import NDArray

from tcuq.stream import Stream

STRETCH = 128  # steps; an onset of a shift stays where it was to within as many


def grouped_by_class(stream: Stream, labels: NDArray[np.int32]) -> Stream:
    """Return the stream with each stretch of 128 steps sorted by label, ties in recorded order.

    A shuffled stream becomes a coherent one, so that a weight that only holds while consecutive
    labels are unrelated does not survive.
    """
    order = np.concatenate(
        [begin + np.argsort(labels[begin:end], kind="stable") for begin, end in _stretches(stream)]
    )
    return Stream(
        stream.posteriors[order],
        None if stream.features is None else stream.features[order],
        labels[order],
        kind=stream.kind,
        starts=stream.starts,
    )


def _stretches(stream: Stream) -> NDArray[np.int64]:
    """Return the bounds of all stretches, (n, 2); none crosses a recording."""
    ends = np.append(stream.starts[1:], len(stream))
    begins = np.concatenate(
        [np.arange(a, b, STRETCH) for a, b in zip(stream.starts, ends, strict=True)]
    )
    return np.column_stack([begins, np.append(begins[1:], len(stream))])
