# SPDX-License-Identifier: Apache-2.0
"""How far `tcuq size` is off: ten random profiles, compiled, linked and run in the emulator."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tcuq.export.compiling import compiled_footprint, gcc
from tcuq.export.cpus import CPUS
from tcuq.export.footprint import footprint, measured_table
from tcuq.profile.quantize import quantize
from tools.firmware.emulator import build_plugin, count
from tools.firmware.export import write_c
from tools.firmware.sizes import stack
from tools.firmware.toolchain import M4, build, compiler_version, run
from tools.measurements.footprint import options
from tools.measurements.footprint_profiles import draw
from tools.measurements.result import Row, arguments, report

SEEDS = range(10)  # none of those the table was fitted to
WITHIN = 0.02
FIGURES = ("flash", "ram", "instructions", "stack")


def errors(seed: int, plugin: Path, folder: Path) -> dict[str, float]:
    """Relative error of each figure of one profile on Cortex-M4, predicted from the table."""
    sample, telemetry = draw(seed), seed % 2 == 0
    predicted = footprint(sample.profile, "cortex-m4", telemetry=telemetry)
    linked = compiled_footprint(sample.profile, predicted, gcc(CPUS["cortex-m4"]))
    monitor = write_c(quantize(sample.profile), telemetry=telemetry)
    elf = build(M4, folder, monitor, optimise="-Os", options=options(predicted.parts))
    counts, _ = count(M4, elf, plugin, sample.posteriors, sample.features)
    truth = {
        "flash": linked.flash,
        "ram": linked.ram,
        "instructions": counts.mean,
        "stack": stack(folder).size,
    }
    return {name: abs(getattr(predicted, name) / truth[name] - 1) for name in FIGURES}


def rows(all_errors: Sequence[Mapping[str, float]]) -> list[Row]:
    """The largest error of each figure, and of instructions on all CPUs."""
    largest = {
        f"size: {name} of {len(all_errors)} random profiles on Cortex-M4": max(
            f[name] for f in all_errors
        )
        for name in FIGURES
    }
    table = measured_table()
    builds = [build for cpu in table["cpus"].values() for build in cpu.values()]
    unseen = f"{table['profiles'] // 4} profiles a first fit did not see, {len(builds)} builds"
    largest[f"size: instructions of {unseen}"] = max(build["error"] for build in builds)
    return [
        Row(what, f"within {WITHIN:.0%}", f"off by {error:.2%} at most", error <= WITHIN)
        for what, error in largest.items()
    ]


def main() -> None:
    """Compare, and keep if asked to."""
    args = arguments()
    with tempfile.TemporaryDirectory() as name:
        plugin = build_plugin(Path(name))
        all_errors = [errors(seed, plugin, Path(name) / str(seed)) for seed in SEEDS]
    qemu = run(["qemu-system-arm", "--version"]).splitlines()[0]
    tools = {"qemu": qemu, "gcc for Cortex-M4": compiler_version(M4)}
    sys.exit(report("size", rows(all_errors), (), write=args.write, tools=tools))


if __name__ == "__main__":
    main()
