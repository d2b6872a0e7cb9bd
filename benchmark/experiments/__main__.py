# SPDX-License-Identifier: Apache-2.0
"""Run experiments: `python -m benchmark.experiments detection mnist hapt`."""

import argparse
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
from benchmark.scenes.tasks import MAKERS

EXPERIMENTS: Mapping[str, Callable[[str], tuple[list[Row], dict[str, str]]]] = {
    "choosing": choosing,
    "detection": detection,
    "transfer": transfer,
    "ablations": ablations,
    "streaming": streaming,
    "cost": cost,
    "alarm": alarm,
}


def main() -> None:
    """Each task's result is written as soon as it is there; networks' outputs are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("tasks", nargs="+", choices=[*MAKERS, "all"])
    asked = parser.parse_args()
    for task in MAKERS if "all" in asked.tasks else asked.tasks:
        begun = time.monotonic()
        rows, networks = EXPERIMENTS[asked.experiment](task)
        print(write(asked.experiment, task, rows, begun=begun, networks=networks))


if __name__ == "__main__":
    main()
