# SPDX-License-Identifier: Apache-2.0
"""What a profile takes of a device, before it is flashed.

RAM and the profile's tables are counted from the header's layout. Code, stack and instructions come
from footprint.json, which tools/measurements/footprint.py measures on emulated CPUs.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

from tcuq.errors import ExportError
from tcuq.export.cpus import CPUS
from tcuq.export.header import number, size_of, structs
from tcuq.export.profile_c import TYPES, Spec, memory
from tcuq.export.sources import parts_needed, runtime_sources
from tcuq.export.work import step_work
from tcuq.profile import Profile
from tcuq.profile.quantize import quantize

Interface = Literal["step", "whole"]
OPTIMISATIONS = ("-Os", "-O2")
STEP = ("tcuq_init", "tcuq_step")
WHOLE = (
    *STEP, "tcuq_reset", "tcuq_reset_history", "tcuq_epoch_evidence", "tcuq_end_epoch",
    "tcuq_snapshot_size", "tcuq_snapshot", "tcuq_restore", "tcuq_strerror",
)  # fmt: skip
COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
MINUTES_A_DAY = 1440
WORD = 4


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes and instructions of one profile in one build."""

    cpu: str
    optimise: str
    interface: Interface
    parts: tuple[str, ...]
    code: int
    tables: int
    ram: int
    stack: int
    instructions: int
    record: int
    measured: str  # what made the figures

    @property
    def flash(self) -> int:
        """Code and the profile's tables."""
        return self.code + self.tables

    def telemetry_a_day(self, minutes: int) -> int:
        """Bytes of records, one every so many minutes."""
        return self.record * (MINUTES_A_DAY // minutes)


def footprint(
    profile: Profile,
    cpu: str = "cortex-m4",
    *,
    optimise: str = "-Os",
    interface: Interface = "whole",
    telemetry: bool = True,
) -> Footprint:
    """Predict what a profile takes of a device.

    Parameters
    ----------
    profile
        From ``tcuq.fit`` or ``Profile.load``.
    cpu
        "cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7" or "rv32imc".
    optimise
        "-Os" or "-O2".
    interface
        "step" if the firmware calls ``tcuq_init`` and ``tcuq_step`` alone, "whole" for everything.
    telemetry
        Whether the monitor counts for the telemetry record.

    Examples
    --------
    >>> from tcuq.demo import demo_profile
    >>> found = footprint(demo_profile(), "cortex-m4")
    >>> found.ram < 400, found.flash < 16_384
    (True, True)
    """
    for name, value, known in (
        ("cpu", cpu, tuple(CPUS)),
        ("optimise", optimise, OPTIMISATIONS),
        ("interface", interface, ("step", "whole")),
    ):
        if value not in known:
            raise ExportError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    spec = quantize(profile)
    parts = tuple(n for n, held in parts_needed(spec, telemetry=telemetry).items() if held)
    measured = measured_table()
    build = measured["cpus"][cpu][optimise]
    name = build_name(parts)
    weights = build["instructions"]
    work = step_work(spec, telemetry=telemetry)
    turns = [(weights[stage][loop], n) for stage in work for loop, n in work[stage].items()]
    return Footprint(
        cpu=cpu,
        optimise=optimise,
        interface=interface,
        parts=parts,
        code=build["code"][name][interface],
        tables=tables_bytes(spec),
        ram=sum(ram_parts(spec, telemetry=telemetry).values()),
        stack=build["stack"][name],
        instructions=round(sum(weight * count for weight, count in turns)),
        record=number("TCUQ_RECORD_BYTES") if telemetry else 0,
        measured=f"measured table, {measured['compilers'][CPUS[cpu].prefix]}",
    )


def build_name(parts: tuple[str, ...]) -> str:
    """A build of the runtime by the optional parts it holds."""
    return "+".join(parts) or "none"


def interface_functions(interface: Interface, *, telemetry: bool) -> tuple[str, ...]:
    """The functions a firmware calls."""
    if interface == "step":
        return STEP
    return (*WHOLE, "tcuq_record") if telemetry else WHOLE


def ram_parts(spec: Spec, *, telemetry: bool) -> dict[str, int]:
    """Bytes of state by the member of the monitor that points at them: each begins at a word."""
    held = memory(spec, telemetry=telemetry)
    return {name: _words(size_of(ctype)[0] * length) for ctype, name, length in held}


def tables_bytes(spec: Spec) -> int:
    """Constants of a profile: the struct, the monitor and every table it points at."""
    return size_of("tcuq_monitor")[0] + _struct_bytes("tcuq_profile", [spec])


def _struct_bytes(struct: str, rows: list[Spec]) -> int:
    total = _words(size_of(struct)[0] * len(rows))
    for row in rows:
        for member in structs()[struct]:
            held = row.get(member.name)
            if member.shape == "pointer" and held:
                flat = member.ctype in TYPES
                total += _words(len(held)) if flat else _struct_bytes(member.ctype, list(held))
    return total


def _words(size: int) -> int:
    return -(-size // WORD) * WORD


def code_digest() -> str:
    """Changes with the runtime's code, not with its comments or its layout on the page."""
    digest = hashlib.sha256()
    for name, text in runtime_sources().items():
        words = " ".join(COMMENTS.sub(" ", text).split())
        digest.update(f"{name}\0{words}\0".encode())
    return digest.hexdigest()


@cache
def measured_table() -> dict[str, Any]:
    """What tools/measurements/footprint.py measured."""
    text = resources.files("tcuq.export").joinpath("footprint.json").read_text("utf-8")
    table: dict[str, Any] = json.loads(text)
    return table
