# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from itertools import pairwise

import numpy as np

import tcuq
from tcuq.calibrate.orders import STRETCH, grouped_by_class

Synthetic = Callable[..., tcuq.Stream]


def test_the_same_steps_in_runs_of_one_class(synthetic: Synthetic) -> None:
    """Each stretch holds the same steps, sorted by label; recordings stay apart."""
    stream = synthetic(1000, starts=[0, 300, 301])
    labels = np.asarray(stream.labels)
    grouped = grouped_by_class(stream, labels)
    assert grouped.starts.tolist() == [0, 300, 301]
    bounds = [0, STRETCH, 2 * STRETCH, 300, 301, *range(301 + STRETCH, 1000, STRETCH), 1000]
    for begin, end in pairwise(bounds):
        stretch = np.asarray(grouped.labels)[begin:end]
        assert (np.diff(stretch) >= 0).all()
        assert sorted(labels[begin:end]) == stretch.tolist()
        pairs = [(s.posteriors[begin:end], s.features[begin:end]) for s in (stream, grouped)]  # type: ignore[index]
        for before, after in zip(*pairs, strict=True):
            assert (np.sort(before, axis=0) == np.sort(after, axis=0)).all()
