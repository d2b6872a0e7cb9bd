# SPDX-License-Identifier: Apache-2.0
"""`size`: what a profile takes of a device, and whether it fits beside a model."""

import argparse
import dataclasses
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tcuq.cli.printing import Commands, say
from tcuq.errors import ExportError
from tcuq.profile import Profile

if TYPE_CHECKING:
    from tcuq.export.footprint import Footprint

SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmM]?)[iI]?[bB]?")
UNITS = {"": 1, "k": 1024, "m": 1024**2}


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parser of this command."""
    size = parsers.add_parser("size", help="say what a profile takes of a device, before flashing")
    size.add_argument("profile")
    size.add_argument("--cpu", help="cortex-m0, -m3, -m4 (default), -m7 or rv32imc")
    size.add_argument("--optimise", choices=("size", "speed"), default="size", help="-Os or -O2")
    size.add_argument("--interface", choices=("whole", "step"), default="whole")
    size.add_argument("--without-telemetry", action="store_true", help="no counters, no record")
    size.add_argument("--record-minutes", type=int, default=60, help="between records, default 60")
    size.add_argument("--table", action="store_true", help="do not compile, even if one could")
    size.add_argument("--part", help="does it fit? STM32L432KC, nRF52840, ...")
    size.add_argument("--flash", type=bytes_of, help="or a part of this flash, such as 256K,")
    size.add_argument("--ram", type=bytes_of, help="and this RAM, such as 64K")
    size.add_argument("--model-flash", type=bytes_of, default=0, help="what is there already: 180K")
    size.add_argument("--model-ram", type=bytes_of, default=0)
    size.set_defaults(command=_size)
    yield size


def bytes_of(text: str) -> int:
    """A size such as 180K."""
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"must be a size such as 180K, got {text[:40]!r}")
    return round(float(found[1]) * UNITS[found[2].lower()])


def _size(asked: argparse.Namespace) -> None:
    from tcuq.export.compiling import best_footprint
    from tcuq.export.footprint import footprint

    if not 1 <= asked.record_minutes <= 1440:
        raise ExportError(f"record-minutes must lie in 1..1440, got {asked.record_minutes}")
    part, flash, ram = _part(asked)
    cpu = asked.cpu or (part.cpu if part else "cortex-m4")
    if part is not None and cpu != part.cpu:
        raise ExportError(f"cpu must be {part.cpu}, which {part.name} has, got {cpu!r}")
    profile = Profile.load(asked.profile)
    found = footprint(
        profile,
        cpu,
        optimise={"size": "-Os", "speed": "-O2"}[asked.optimise],
        interface=asked.interface,
        telemetry=not asked.without_telemetry,
    )
    if not asked.table:
        found = best_footprint(profile, found)
    daily = found.telemetry_a_day(asked.record_minutes)
    facts: dict[str, Any] = dataclasses.asdict(found)
    facts |= {"flash": found.flash, "telemetry_bytes_a_day": daily}
    text = _lines(
        found, f"{daily:>9,} bytes a day: one record every {asked.record_minutes} minutes"
    )
    answer = ""
    if flash is not None and ram is not None:
        needs = {
            "flash": (asked.model_flash + found.flash, flash),
            "RAM": (asked.model_ram + found.ram + found.stack, ram),
        }
        facts["fits"] = all(need <= held for need, held in needs.values())
        said = ", ".join(f"{name} {need:,} of {held:,}" for name, (need, held) in needs.items())
        answer = f"{part.name if part else 'the part'}: {said}"
        text.append(f"{'yes, it fits' if facts['fits'] else 'no, it does not fit'} {answer}")
    say(asked, facts, "\n".join(text))
    if answer and not facts["fits"]:
        raise ExportError(f"does not fit {answer}")


def _lines(found: "Footprint", daily: str) -> list[str]:
    return [
        f"{found.cpu}, {found.optimise}, interface: {found.interface} ({found.measured})",
        f"flash         {found.flash:>9,} bytes: code {found.code:,} + profile {found.tables:,}",
        f"RAM           {found.ram:>9,} bytes of state, exact",
        f"stack         {found.stack:>9,} bytes, the deepest path from tcuq_step",
        f"instructions  {found.instructions:>9,} a step, predicted within 2 %; not cycles",
        f"telemetry     {daily}",
    ]


def _part(asked: argparse.Namespace) -> tuple[Any, int | None, int | None]:
    """The part that was named, and the flash and RAM to fit into."""
    from tcuq.export.cpus import PARTS

    if asked.part is None:
        if (asked.flash is None) != (asked.ram is None):
            raise ExportError("flash and ram must be given together, or a part's name")
        return None, asked.flash, asked.ram
    part = PARTS.get(asked.part.lower())
    if part is None:
        known = ", ".join(p.name for p in PARTS.values())
        raise ExportError(
            f"part must be one of {known}, got {asked.part[:40]!r}; give --cpu, --flash and --ram"
        )
    return part, asked.flash or part.flash, asked.ram or part.ram
