# SPDX-License-Identifier: Apache-2.0
"""`tcuq size`: what a profile costs on a device, and whether it fits beside a model."""

import argparse
import dataclasses
from typing import TYPE_CHECKING, Any

from tcuq.cli._arguments import add_without_telemetry, adder, parse_bytes
from tcuq.cli.output import print_result
from tcuq.errors import ExportError
from tcuq.profile import Profile

if TYPE_CHECKING:
    from tcuq.firmware.footprint import Footprint, StepInstructions

SENTENCE = "say what a profile costs on a device, before flashing"
EXAMPLE = "size monitor.json --part STM32L432KC"
MINUTES_PER_DAY = 1440


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add("profile", "profile, .json")
    add("--cpu", "cortex-m0, -m3, -m4 (default), -m7 or rv32imc")
    add(
        "--optimise", "compile with -Os (default) or -O2", choices=("size", "speed"), default="size"
    )
    add(
        "--interface",
        "functions that the firmware calls: all (default), or tcuq_step alone",
        choices=("whole", "step"),
        default="whole",
    )
    add_without_telemetry(parser)
    add("--record-minutes", "minutes between two telemetry records", type=int, default=60)
    add(
        "--table",
        "use the measured table even if a cross compiler is installed",
        action="store_true",
    )
    add("--part", "check that it fits this part: STM32L432KC, nRF52840, ...")
    add("--flash", "check that it fits this flash, such as 256K", type=parse_bytes)
    add("--ram", "check that it fits this RAM, such as 64K", type=parse_bytes)
    add(
        "--model-flash",
        "flash used by the model and the application, such as 180K",
        type=parse_bytes,
        default=0,
    )
    add("--model-ram", "RAM used by the model and the application", type=parse_bytes, default=0)


def run(args: argparse.Namespace) -> None:
    """Print the footprint, and whether it fits if a part is given."""
    from tcuq.firmware.compiler import best_footprint
    from tcuq.firmware.footprint import footprint, nearest_instructions, sample_fold

    if not 1 <= args.record_minutes <= MINUTES_PER_DAY:
        raise ExportError(
            f"record-minutes must lie in 1..{MINUTES_PER_DAY}, got {args.record_minutes}"
        )
    part, flash, ram = _part(args)
    cpu = args.cpu or (part.cpu if part else "cortex-m4")
    if part is not None and cpu != part.cpu:
        raise ExportError(f"cpu must be {part.cpu}, which {part.name} has, got {cpu!r}")
    profile = Profile.load(args.profile)
    optimise = {"size": "-Os", "speed": "-O2"}[args.optimise]
    telemetry = not args.without_telemetry
    size = footprint(profile, cpu, optimise=optimise, interface=args.interface, telemetry=telemetry)
    if not args.table:
        size = best_footprint(profile, size)
    nearest = nearest_instructions(profile, cpu, optimise=optimise, telemetry=telemetry)
    daily = size.record * (MINUTES_PER_DAY // args.record_minutes)
    facts: dict[str, Any] = dataclasses.asdict(size)
    facts |= {"flash": size.flash, "telemetry_bytes_per_day": daily}
    facts["instructions"] = dataclasses.asdict(nearest)
    text = _lines(
        size, nearest, f"{daily:>9,} bytes per day: one record every {args.record_minutes} minutes"
    )
    if profile.signals.health is not None:
        fold = sample_fold(cpu)
        facts["sample_fold"] = fold
        text.append(
            f"raw samples   {fold['flash']:>9,.0f} bytes of flash more; {fold['frame']:g}"
            f" instructions per sample (audio in blocks {fold['block']:g}) at -O2;\n"
            f"{'':<18}RAM 8 bytes per channel + 24 per group + 16"
        )
    answer = ""
    if flash is not None and ram is not None:
        needs = {
            "flash": (args.model_flash + size.flash, flash),
            "RAM": (args.model_ram + size.ram + size.stack, ram),
        }
        facts["fits"] = all(need <= limit for need, limit in needs.values())
        use = ", ".join(f"{name} {need:,} of {limit:,}" for name, (need, limit) in needs.items())
        answer = f"{part.name if part else 'the part'}: {use}"
        text.append(f"{'yes, it fits' if facts['fits'] else 'no, it does not fit'} {answer}")
    print_result(args, facts, "\n".join(text))
    if answer and not facts["fits"]:
        raise ExportError(f"does not fit {answer}")


def _lines(size: "Footprint", nearest: "StepInstructions", daily: str) -> list[str]:
    largest = f"largest of {nearest.steps:,} steps {nearest.worst:,}"
    return [
        f"{size.cpu}, {size.optimise}, interface: {size.interface} (flash {size.flash_source})",
        f"flash         {size.flash:>9,} bytes: code {size.code:,} + profile {size.tables:,}",
        f"RAM           {size.ram:>9,} bytes of state, exact",
        f"stack         {size.stack:>9,} bytes: deepest call path from tcuq_step, measured table",
        f"telemetry     {daily}",
        f"instructions  {nearest.mean:>9,} per step (not cycles), {largest};",
        f"{'':<18}{nearest.note}",
        f"  profile         {nearest.profile}",
        f"  size            {nearest.size}",
        f"  parts           {'+'.join(nearest.parts) or 'none'}",
        f"  flags           {nearest.flags}",
        f"measured table    {size.table_compiler}",
    ]


def _part(args: argparse.Namespace) -> tuple[Any, int | None, int | None]:
    """The named part, and the flash and RAM to fit into."""
    from tcuq.firmware.cpus import PARTS

    if args.part is None:
        if (args.flash is None) != (args.ram is None):
            raise ExportError("flash and ram must be given together, or a part's name")
        return None, args.flash, args.ram
    part = PARTS.get(args.part.lower())
    if part is None:
        known = ", ".join(p.name for p in PARTS.values())
        raise ExportError(
            f"part must be one of {known}, got {args.part[:40]!r}; give --cpu, --flash and --ram"
        )
    return part, args.flash or part.flash, args.ram or part.ram
