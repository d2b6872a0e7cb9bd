# SPDX-License-Identifier: Apache-2.0
"""Experiments by name; not in `__main__`, which worker processes cannot import."""

import time
from collections.abc import Callable, Mapping

from tcuq_benchmark.experiments.ablations import ablations
from tcuq_benchmark.experiments.alarm import alarm
from tcuq_benchmark.experiments.cost import cost
from tcuq_benchmark.experiments.detection import detection
from tcuq_benchmark.experiments.result import ExperimentRow, kept_rows, write_result
from tcuq_benchmark.experiments.streaming import streaming
from tcuq_benchmark.experiments.transfer import transfer
from tcuq_benchmark.experiments.tuned import tuned

EXPERIMENTS: Mapping[str, Callable[[str], tuple[list[ExperimentRow], dict[str, str]]]] = {
    "detection": detection,
    "transfer": transfer,
    "ablations": ablations,
    "streaming": streaming,
    "cost": cost,
    "alarm": alarm,
    "tuned": tuned,
}


def run_task(experiment: str, task: str, *, keep: bool = False) -> str:
    """Run one task of an experiment and write its result; return the path.

    With `keep`, committed rows whose networks are not trained here stay, each with its commit.
    """
    begun = time.monotonic()
    earlier = kept_rows(experiment, task) if keep else []
    rows, networks = EXPERIMENTS[experiment](task)
    again = {_identity(row) for row in rows}
    rows += [row for row in earlier if _identity(row) not in again]
    return str(write_result(experiment, task, rows, begun=begun, networks=networks))


def _identity(row: ExperimentRow) -> tuple[object, ...]:
    return tuple(row.get(name) for name in ("score", "variant", "kind", "seed"))
