# SPDX-License-Identifier: Apache-2.0
"""Run experiments: `python -m tcuq_benchmark.experiments detection mnist hapt`."""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from tcuq_benchmark.experiments.tasks import EXPERIMENTS, run_task
from tcuq_benchmark.scenarios.tasks import FACTORIES


def main() -> None:
    """Write each task's result when it is finished; network outputs are cached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("tasks", nargs="+", choices=[*FACTORIES, "all"])
    parser.add_argument("--processes", type=int, default=1, help="tasks to run in parallel")
    parser.add_argument(
        "--keep", action="store_true", help="keep committed rows whose networks are not trained"
    )
    args = parser.parse_args()
    tasks = list(FACTORIES) if "all" in args.tasks else args.tasks
    work = partial(run_task, args.experiment, keep=args.keep)
    if args.processes == 1:
        for path in map(work, tasks):
            print(path)
        return
    with ProcessPoolExecutor(args.processes, get_context("spawn")) as pool:
        for path in pool.map(work, tasks):
            print(path)


if __name__ == "__main__":
    main()
