# SPDX-License-Identifier: Apache-2.0
"""Instructions of network and monitor on the first steps of the story, counted by QEMU."""

import argparse
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
BUILD = HERE / "build/count"
PLUGIN = HERE.parents[1] / "tests/fixtures/firmware/icount.c"
CMSIS_NN = 7_690_000  # an inference of this network on a Cortex-M4; measured apart, see the README
STEPS = 40


def entries() -> dict[str, int]:
    """Return the addresses of the firmware's functions."""
    symbols = subprocess.run(
        ["arm-none-eabi-nm", BUILD / "keyword.elf"], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[2]: int(line.split()[0], 16) & ~1 for line in symbols.splitlines()}


def count() -> dict[str, dict[str, float]]:
    """Return the mean and worst instructions per step of network and monitor."""
    BUILD.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "build/keyword.elf", BUILD)
    with np.load(HERE / "story.npz") as story:
        story["inputs"][:STEPS].tofile(BUILD / "story.bin")
    subprocess.run(
        ["gcc", "-std=gnu99", "-O2", "-shared", "-fPIC", PLUGIN, "-o", BUILD / "icount.so"],
        check=True,
    )
    at = entries()
    marks = f"out=counts.txt,step={at['hear']:#x}"
    marks += "".join(f",stage={name}:{at[name]:#x}" for name in ("network_run", "watch"))
    subprocess.run(
        ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none",
         "-semihosting-config", "enable=on,target=native",
         "-plugin", f"./icount.so,{marks}", "-kernel", "keyword.elf"],
        cwd=BUILD, stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    rows = [line.split() for line in (BUILD / "counts.txt").read_text("utf-8").splitlines()]
    return {
        row[1]: {"mean": int(row[3]) / STEPS, "worst": int(row[5])}
        for row in rows
        if row[0] == "stage"
    }


def main() -> None:
    """Count, and print what the monitor adds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    counts = count()
    network, monitor = counts["network_run"]["mean"], counts["watch"]["mean"]
    if args.json:
        print(json.dumps(counts))
        return
    print(f"network on Aidge's kernels  {network:>12,.0f} instructions an inference")
    worst = counts["watch"]["worst"]
    print(f"monitor                     {monitor:>12,.0f} a step, {worst:,} at worst")
    print(f"the monitor adds {monitor / network:.4%} to this network on Aidge's kernels,")
    print(f"             and {monitor / CMSIS_NN:.4%} to CMSIS-NN's {CMSIS_NN:,} instructions")


if __name__ == "__main__":
    main()
