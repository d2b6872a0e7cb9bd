# SPDX-License-Identifier: Apache-2.0
"""The keyword example as a user runs it, its whole story on the emulated Cortex-M4."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

from results.result import ROOT, Row, figure, measure

EXAMPLE = ROOT / "examples/keyword-spotting"
FEWEST_STEPS = 2_000
CMSIS_NN = 7_690_000  # instructions of the same network on a Cortex-M4, measured apart
MOST_SHARE = 0.001
CPU = "emulated Cortex-M4"


def output(*command: str) -> str:
    """Run a command in the example's folder and return what it prints; its errors are shown."""
    return subprocess.run(
        command,
        cwd=EXAMPLE,
        env={**os.environ, "PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def rows(short: bool) -> Iterator[Row]:
    """Yield what must hold, and the story beside it."""
    output("make", "run", *(["STEPS=60"] if short else []))
    story = json.loads(output(sys.executable, "story.py", "--json"))
    counts = json.loads(output(sys.executable, "count.py", "--json"))
    steps, equal = story["steps"], story["equal"]
    network, monitor = counts["network_run"]["mean"], counts["watch"]["mean"]
    yield Row(
        f"decisions of network and monitor in one firmware, {CPU}, that equal the host's",
        f"all, of at least {FEWEST_STEPS:,}",
        f"{equal:,} of {steps:,}",
        equal == steps >= FEWEST_STEPS,
    )
    yield Row(
        f"instructions of the monitor's step, {CPU}, over CMSIS-NN's 7.69 million of the DS-CNN",
        f"≤ {MOST_SHARE:.1%}",
        f"{monitor / CMSIS_NN:.4%} ({monitor:,.0f})",
        monitor <= MOST_SHARE * CMSIS_NN,
    )
    yield figure(
        f"the same over Aidge's kernels in that firmware, {network / 1e6:.2f} million",
        f"{monitor / network:.4%}",
    )
    for row in story["chapters"]:
        alarm = row["first_alarm"]
        of_accepted = row["right_of_accepted"]
        yield figure(
            f"keyword story, {row['chapter']}, {row['steps']} steps",
            f"{row['right']:.1%} right, {row['accepted']:.1%} accepted, of these "
            + ("none, " if of_accepted is None else f"{of_accepted:.1%} right, ")
            + ("no alarm" if alarm is None else f"alarm after {alarm} steps"),
        )


if __name__ == "__main__":
    libraries = ("aidge-export-cpp", "scikit-learn")
    measure("keyword", rows, libraries, tools=("qemu-system-arm", "arm-none-eabi-gcc"))
