# SPDX-License-Identifier: Apache-2.0
"""The pool of each task, for one network."""

import numpy as np

from tcuq_benchmark.data import gas_drift
from tcuq_benchmark.data.samples import Samples
from tcuq_benchmark.detectors.pools import (
    SPAN,
    Pool,
    Spans,
    corrupted_spans,
    outputs_of_samples,
    sample_pool,
)
from tcuq_benchmark.detectors.recording_pool import recording_pool
from tcuq_benchmark.outputs import join_rows
from tcuq_benchmark.scenario_run import Network
from tcuq_benchmark.scenarios.corruption import CorruptionScenarios
from tcuq_benchmark.scenarios.inertial import InertialScenarios
from tcuq_benchmark.scenarios.scenario import make_plan
from tcuq_benchmark.scenarios.tasks import FACTORIES

SEVERITIES = (2, 4)


def make_pool(task: str, network: Network, seed: int) -> Pool:
    """Return calibration and test samples of a task, and its shifts at two severities."""
    factory = FACTORIES[task]
    if isinstance(factory, InertialScenarios):
        recordings = factory.load()
        return recording_pool(
            network, recordings["calibration"], recordings["test"], factory.classes, SEVERITIES
        )
    if isinstance(factory, CorruptionScenarios):
        parts = factory.load()
        shifts = [(name, level) for name in factory.suite for level in SEVERITIES]
        spans = corrupted_spans(network, parts["test"], factory.suite, shifts, seed)
        return sample_pool(network, parts["calibration"], parts["test"], spans)
    return _gas(network, seed)


def _gas(network: Network, seed: int) -> Pool:
    """Return months 1 to 10, and each later batch as a natural drift."""
    parts = gas_drift.load()
    test = parts["test"]
    early = np.isin(test.group, gas_drift.FIRST_BATCHES)
    batches = np.unique(test.group[~early]).tolist()
    drifts = [_drift(network, test.take(test.group == batch), seed) for batch in batches]
    spans = Spans(tuple((f"batch {batch}", 0) for batch in batches), join_rows(drifts))
    return sample_pool(network, parts["calibration"], test.take(early), spans)


def _drift(network: Network, samples: Samples, seed: int) -> dict[str, np.ndarray]:
    rows = make_plan(samples, SPAN, "coherent", seed).index
    return {name: values[rows] for name, values in outputs_of_samples(network, samples).items()}
