# SPDX-License-Identifier: Apache-2.0
"""The pool of each task, seen by one network."""

import numpy as np

from benchmark.data import gas_drift
from benchmark.data.samples import Samples
from benchmark.detectors.pools import SPAN, Pool, Spans, as_recorded, corrupted, sampled
from benchmark.detectors.recorded import recorded
from benchmark.outputs import joined_rows
from benchmark.scenes.corrupted import Corrupted
from benchmark.scenes.inertial import Inertial
from benchmark.scenes.scene import streamed
from benchmark.scenes.tasks import MAKERS
from benchmark.seen import Network

SEVERITIES = (2, 4)


def pool(task: str, network: Network, seed: int) -> Pool:
    """Calibration's and test's samples of a task, and its shifts at two severities."""
    maker = MAKERS[task]
    if isinstance(maker, Inertial):
        parts = maker.load()
        return recorded(network, parts["calibration"], parts["test"], maker.classes, SEVERITIES)
    if isinstance(maker, Corrupted):
        held = maker.load()
        shifts = [(name, level) for name in maker.suite for level in SEVERITIES]
        spans = corrupted(network, held["test"], maker.suite, shifts, seed)
        return sampled(network, held["calibration"], held["test"], spans)
    return _gas(network, seed)


def _gas(network: Network, seed: int) -> Pool:
    """Months 1 to 10, and each later batch as a natural drift."""
    parts = gas_drift.load()
    test = parts["test"]
    early = np.isin(test.group, gas_drift.FIRST_BATCHES)
    batches = np.unique(test.group[~early]).tolist()
    said = [_drift(network, test.take(test.group == batch), seed) for batch in batches]
    spans = Spans(tuple((f"batch {batch}", 0) for batch in batches), joined_rows(said))
    return sampled(network, parts["calibration"], test.take(early), spans)


def _drift(network: Network, samples: Samples, seed: int) -> dict[str, np.ndarray]:
    rows = streamed(samples, SPAN, "coherent", seed).index
    return {name: values[rows] for name, values in as_recorded(network, samples).items()}
