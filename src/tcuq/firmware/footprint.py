# SPDX-License-Identifier: Apache-2.0
"""Flash, RAM and stack that a profile takes on a device, before it is flashed.

RAM and the profile's tables are counted from the header's layout. Code and stack come from
footprint.json, which tools/measurements/footprint.py measures for every build of the runtime.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

from tcuq.errors import ExportError
from tcuq.firmware.cpus import CPUS
from tcuq.firmware.header import INTEGERS, align, number, size_of, structs
from tcuq.firmware.profile_c import Spec, memory, required_parts
from tcuq.profile import Profile
from tcuq.profile.quantize import quantize

Interface = Literal["step", "whole"]
OPTIMISATIONS = ("-Os", "-O2")
STEP_FUNCTIONS = ("tcuq_init", "tcuq_step")
WHOLE_FUNCTIONS = (
    *STEP_FUNCTIONS, "tcuq_reset", "tcuq_reset_history", "tcuq_epoch_evidence",
    "tcuq_snapshot_size", "tcuq_snapshot", "tcuq_restore", "tcuq_strerror",
)  # fmt: skip
FLASH_ERROR = 0.005  # bound of the table against the linker; tools/measurements/size.py checks it
WORD = 4
NOTE = "measured for the nearest standard profile, yours may differ"


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes that one profile takes in one build of the runtime."""

    cpu: str
    optimise: str
    interface: Interface
    parts: tuple[str, ...]
    code: int
    tables: int
    ram: int
    stack: int
    record: int
    flash_source: str
    table_compiler: str  # of the measured table

    @property
    def flash(self) -> int:
        """Code and the profile's tables."""
        return self.code + self.tables


def footprint(
    profile: Profile,
    cpu: str = "cortex-m4",
    *,
    optimise: str = "-Os",
    interface: Interface = "whole",
    telemetry: bool = True,
) -> Footprint:
    """Flash, RAM and stack of a profile, from the measured table.

    Parameters
    ----------
    profile
        From ``tcuq.fit`` or ``Profile.load``.
    cpu
        "cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7" or "rv32imc".
    optimise
        "-Os" or "-O2".
    interface
        "step" if the firmware calls only ``tcuq_init`` and ``tcuq_step``, "whole" for everything.
    telemetry
        Whether the monitor counts for the telemetry record.

    Examples
    --------
    >>> from tcuq.demo import demo_profile
    >>> size = footprint(demo_profile(), "cortex-m4")
    >>> size.ram < 640, size.flash < 16_384
    (True, True)
    """
    check_build(cpu, optimise)
    if interface not in ("step", "whole"):
        raise ExportError(f"interface must be step or whole, got {interface!r}")
    spec = quantize(profile)
    parts = required_parts(spec, telemetry=telemetry)
    table = measured_table()
    tables: dict[tuple[str, bytes], int] = {}
    structs_bytes = size_of("tcuq_monitor")[0] + _struct_bytes("tcuq_profile", [spec], tables)
    build = table["builds"][cpu][build_name(parts)][optimise]
    return Footprint(
        cpu=cpu,
        optimise=optimise,
        interface=interface,
        parts=parts,
        code=build[interface],
        tables=structs_bytes + sum(tables.values()),
        ram=sum(ram_parts(spec, telemetry=telemetry).values()),
        stack=build["stack"],
        record=number("TCUQ_RECORD_BYTES") if telemetry else 0,
        flash_source=f"from the measured table, error on 10 random profiles < {FLASH_ERROR:.1%}",
        table_compiler=table["compilers"][CPUS[cpu].prefix],
    )


def sample_fold(cpu: str) -> dict[str, float]:
    """Return what adding raw samples for input health costs, by a measured table."""
    text = resources.files("tcuq.firmware").joinpath("sample_fold.json").read_text("utf-8")
    costs: dict[str, dict[str, float]] = json.loads(text)
    return costs[cpu]


def check_build(cpu: str, optimise: str) -> None:
    """Refuse a CPU or an optimisation that was not measured."""
    for name, value, known in (("cpu", cpu, CPUS), ("optimise", optimise, OPTIMISATIONS)):
        if value not in known:
            raise ExportError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def build_name(parts: Iterable[str]) -> str:
    """The name of a build of the runtime: its optional parts."""
    return "+".join(part for part in parts if part != "classes") or "none"


def interface_functions(interface: Interface, *, telemetry: bool) -> tuple[str, ...]:
    """The functions of the runtime that a firmware calls."""
    if interface == "step":
        return STEP_FUNCTIONS
    return (*WHOLE_FUNCTIONS, "tcuq_record") if telemetry else WHOLE_FUNCTIONS


def ram_parts(spec: Spec, *, telemetry: bool) -> dict[str, int]:
    """Bytes of the monitor, and of state by its member that points there; each starts at a word."""
    arrays = memory(spec, telemetry=telemetry)
    monitor = {"monitor": size_of("tcuq_monitor")[0]}
    return monitor | {
        name: align(size_of(ctype)[0] * length, WORD) for ctype, name, length in arrays
    }


def _struct_bytes(struct: str, rows: list[Spec], tables: dict[tuple[str, bytes], int]) -> int:
    """Bytes of structs; every table that they point to is added to ``tables``, equal ones once."""
    total = align(size_of(struct)[0] * len(rows), WORD)
    for row in rows:
        for member in structs()[struct]:
            value = row.get(member.name)
            if member.shape != "pointer" or not value:
                continue
            if member.ctype in INTEGERS:
                tables[member.ctype, bytes(value)] = align(len(value), WORD)
            else:
                total += _struct_bytes(member.ctype, list(value), tables)
    return total


@cache
def measured_table() -> dict[str, Any]:
    """The content of footprint.json."""
    text = resources.files("tcuq.firmware").joinpath("footprint.json").read_text("utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


@dataclass(frozen=True, slots=True)
class StepInstructions:
    """Instructions of one step of a standard profile on one CPU, and what was measured."""

    mean: int
    worst: int
    profile: str
    classes: int
    features: int
    lags: int
    terms: int  # of the anchored score
    parts: tuple[str, ...]
    steps: int
    flags: str
    note: str = NOTE

    @property
    def size(self) -> str:
        """The size of the standard profile in words."""
        lags = "1 lag" if self.lags == 1 else f"{self.lags} lags"
        return f"{self.classes} classes, {self.features} features, {lags}, {self.terms} score terms"


def nearest_instructions(
    profile: Profile, cpu: str = "cortex-m4", *, optimise: str = "-Os", telemetry: bool = True
) -> StepInstructions:
    """The counts of the nearest standard profile.

    Nearest is the profile with the fewest differing parts of the runtime, then with the smallest
    sum of differences in classes, features, lags and score terms.

    Examples
    --------
    >>> from tcuq.demo import demo_profile
    >>> nearest_instructions(demo_profile()).profile
    'recommended preset on the demo streams'
    """
    check_build(cpu, optimise)
    spec = quantize(profile)
    shape, parts = profile_shape(spec), set(required_parts(spec, telemetry=telemetry))
    table = measured_table()
    name, nearest = min(
        table["standard_profiles"].items(),
        key=lambda item: _distance(item[1]["measured"], shape, parts),
    )
    return StepInstructions(
        profile=name,
        **nearest["measured"] | {"parts": tuple(nearest["measured"]["parts"])},
        **nearest["instructions"][cpu][optimise],
        flags=" ".join((*CPUS[cpu].flags, optimise, *table["flags"])),
    )


def _distance(
    measured: Mapping[str, Any], shape: Mapping[str, int], parts: set[str]
) -> tuple[int, int]:
    differences = (abs(measured[name] - value) for name, value in shape.items())
    return len(parts.symmetric_difference(measured["parts"])), sum(differences)


def profile_shape(spec: Spec) -> dict[str, int]:
    """The counts that tell one quantised profile from another."""
    return {
        "classes": spec["classes"],
        "features": spec["width"],
        "lags": len(spec["lags"]),
        "terms": len(spec["terms"] or ()),
    }
