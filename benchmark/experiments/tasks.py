# SPDX-License-Identifier: Apache-2.0
"""Experiments by name, a task at a time; not in `__main__`, which other processes cannot import."""

import time
from collections.abc import Callable, Mapping

from benchmark.experiments.ablations import ablations
from benchmark.experiments.alarm import alarm
from benchmark.experiments.choosing import choosing
from benchmark.experiments.cost import cost
from benchmark.experiments.detection import detection
from benchmark.experiments.result import Row, write
from benchmark.experiments.streaming import streaming
from benchmark.experiments.transfer import transfer

EXPERIMENTS: Mapping[str, Callable[[str], tuple[list[Row], dict[str, str]]]] = {
    "choosing": choosing,
    "detection": detection,
    "transfer": transfer,
    "ablations": ablations,
    "streaming": streaming,
    "cost": cost,
    "alarm": alarm,
}


def done(experiment: str, task: str) -> str:
    """One task of an experiment, written as soon as it is there."""
    begun = time.monotonic()
    rows, networks = EXPERIMENTS[experiment](task)
    return str(write(experiment, task, rows, begun=begun, networks=networks))
