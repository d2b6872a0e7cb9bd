# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmark.networks`: list the zoo, train what is missing; can be stopped any time."""

import argparse
import sys

import torch

from benchmark.networks import weights, zoo


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit status is 0 if everything asked for is there."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.networks", description=__doc__)
    parser.add_argument("command", choices=("list", "train"))
    parser.add_argument("--task", nargs="+", default=list(zoo.TASKS), choices=zoo.TASKS)
    parser.add_argument("--variant", nargs="+", default=["base"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)  # the fast setting for networks so small, and reproducible
    torch.use_deterministic_algorithms(mode=True)
    wanted = [(t, v, s) for v in given.variant for t in given.task for s in given.seeds]
    try:
        for one in wanted:
            if given.command == "list":
                sys.stdout.write(f"{described(*one)}\n")
            elif not zoo.path(*one).with_suffix(".json").exists():
                zoo.learn(*one, say)
                say(described(*one))
    except (ValueError, OSError) as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("stopped: finished epochs stay, the next call goes on from there")
        return 130
    return 0


def say(line: str) -> None:
    """A line of progress on standard error."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def described(task: str, variant: str, seed: int) -> str:
    """One line about a network of the zoo."""
    name = f"{task:14} {variant:12} {seed}"
    try:
        _, about = weights.read(zoo.path(task, variant, seed))
    except FileNotFoundError:
        return f"{name}  not trained"
    shares = "  ".join(f"{p} {about[f'{p}_accuracy']:.4f}" for p in ("calibration", "test"))
    return f"{name}  {shares}  {about['wall_s']:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
