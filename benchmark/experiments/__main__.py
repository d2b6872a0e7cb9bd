# SPDX-License-Identifier: Apache-2.0
"""Run experiments: `python -m benchmark.experiments detection mnist hapt`."""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from benchmark.experiments.tasks import EXPERIMENTS, done
from benchmark.scenes.tasks import MAKERS


def main() -> None:
    """Each task's result is written as soon as it is there; networks' outputs are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("tasks", nargs="+", choices=[*MAKERS, "all"])
    parser.add_argument("--processes", type=int, default=1, help="tasks at once")
    asked = parser.parse_args()
    tasks = list(MAKERS) if "all" in asked.tasks else asked.tasks
    work = partial(done, asked.experiment)
    if asked.processes == 1:
        for path in map(work, tasks):
            print(path)
        return
    with ProcessPoolExecutor(asked.processes, get_context("spawn")) as pool:
        for path in pool.map(work, tasks):
            print(path)


if __name__ == "__main__":
    main()
