# SPDX-License-Identifier: Apache-2.0
"""`python -m tcuq_benchmark.networks`: list the zoo, train missing networks, keep them.

`train` resumes an interrupted training; `keep` copies weights from the cache to the repository.
"""

import argparse
import sys

import torch

from tcuq_benchmark.networks import zoo


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit status is 0 if all requested networks are trained."""
    parser = argparse.ArgumentParser(prog="python -m tcuq_benchmark.networks", description=__doc__)
    parser.add_argument("command", choices=("list", "train", "keep"))
    parser.add_argument("--task", nargs="+", default=list(zoo.TASKS), choices=zoo.TASKS)
    parser.add_argument("--variant", nargs="+", default=["base"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)  # fastest for networks this small, and reproducible
    torch.use_deterministic_algorithms(mode=True)
    requested = [(t, v, s) for v in args.variant for t in args.task for s in args.seeds]
    try:
        for one in requested:
            if args.command == "list":
                sys.stdout.write(f"{describe(*one)}\n")
            elif args.command == "keep":
                zoo.keep_network(*one)
            elif not zoo.is_trained(*one):
                zoo.train_network(*one, log)
                log(describe(*one))
    except (ValueError, OSError) as error:
        log(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        log("stopped: finished epochs are saved, the next call resumes")
        return 130
    return 0


def log(line: str) -> None:
    """Write a line of progress to standard error."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def describe(task: str, variant: str, seed: int) -> str:
    """Return one line on a network of the zoo."""
    name = f"{task:14} {variant:12} {seed}"
    if not zoo.is_trained(task, variant, seed):
        return f"{name}  not trained"
    _, metadata = zoo.read_weights(task, variant, seed)
    shares = "  ".join(f"{p} {metadata[f'{p}_accuracy']:.4f}" for p in ("calibration", "test"))
    return f"{name}  {shares}  {metadata['wall_s']:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
