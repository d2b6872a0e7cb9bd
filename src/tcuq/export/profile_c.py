# SPDX-License-Identifier: Apache-2.0
"""A quantised profile as C: its tables, the monitor's memory and the monitor over both.

A translation unit of its own, so that no compiler folds a profile into the runtime.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tcuq.errors import ExportError
from tcuq.export.header import Member, number, structs

Spec = Mapping[str, Any]
TYPES = {
    "uint8_t": "u1", "int8_t": "i1", "uint16_t": "<u2", "int16_t": "<i2", "uint32_t": "<u4",
    "int32_t": "<i4", "uint64_t": "<u8", "int64_t": "<i8",
}  # fmt: skip
PROFILE = "tcuq_device_profile"


def literal(value: int) -> str:
    """An integer that no compiler warns of."""
    if value > 0xFFFFFFFF:
        return f"UINT64_C({value})"
    if value == -(1 << 31):
        return "INT32_MIN"
    return f"{value}u" if value > 0x7FFFFFFF else f"{value}"


def rows(values: Iterable[int]) -> str:
    """Numbers in lines of a readable length."""
    words = [literal(int(value)) for value in values]
    longest = max(map(len, words), default=0) + 2
    width = max(1, min(16, 96 // longest))
    lines = (", ".join(words[i : i + width]) for i in range(0, len(words), width))
    return ",\n    ".join(lines)


class ProfileWriter:
    """Writes the tables of a profile first, then the struct that points at them."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.tables: list[str] = []

    def text(self) -> str:
        """Tables and profile."""
        body = self._struct("tcuq_profile", self.spec, "")
        profile = f"const tcuq_profile {PROFILE} = {{\n{body}\n}};\n"
        return "\n".join([*self.tables, profile])

    def _struct(self, name: str, spec: Spec, suffix: str) -> str:
        lines = [self._member(member, spec, suffix) for member in structs()[name]]
        return "\n".join(line for line in lines if line)

    def _member(self, member: Member, spec: Spec, suffix: str) -> str:
        value = self._value(member, spec)
        if value is None:
            return ""
        if member.shape == "pointer":
            text = self._table(member, value, suffix)
        elif member.shape == "array":
            text = f"{{{rows(_numbers(member, value))}}}"
        else:
            text = value if isinstance(value, str) else literal(int(value))
        return f"    .{member.name} = {text},"

    def _value(self, member: Member, spec: Spec) -> Any:  # noqa: ANN401 - number, bytes or list
        name = member.name
        if name in spec:
            return spec[name]
        if name == "format":
            return "TCUQ_PROFILE_FORMAT"
        plural = f"{name.removesuffix('_count')}s"
        if name.endswith("_count") and plural in spec:
            return len(spec[plural] or ())
        if name.startswith("reserved"):
            return None
        raise ExportError(f"the runtime wants {name!r} in a profile, which quantize does not give")

    def _table(self, member: Member, value: Any, suffix: str) -> str:  # noqa: ANN401 - as above
        name = f"{member.name}{suffix}"
        if member.ctype in TYPES:
            numbers = rows(_numbers(member, value))
            kind = f"static const {member.ctype} TCUQ_WORD_ALIGNED"
            self.tables.append(f"{kind} {name}[] = {{\n    {numbers},\n}};\n")
            return name
        if not value:
            return "NULL"
        parts = [self._struct(member.ctype, row, f"{suffix}_{i}") for i, row in enumerate(value)]
        held = ",\n".join(f"{{\n{part}\n}}" for part in parts)
        self.tables.append(f"static const {member.ctype} {name}[] = {{\n{held},\n}};\n")
        return name


def _numbers(member: Member, value: bytes | Sequence[int]) -> list[int]:
    if isinstance(value, bytes):
        numbers: list[int] = np.frombuffer(value, TYPES[member.ctype]).tolist()
        return numbers
    return list(value)


def memory(spec: Spec, *, telemetry: bool) -> list[tuple[str, str, int]]:
    """Type, name and length of each array of state; their sizes are what the monitor costs."""
    past = max(spec["lags"])
    terms = spec["terms"] or ()
    smooths = any(term["ewma"] for term in terms)
    lengths = {
        "core": 1,
        "slots": past,
        "posteriors": past * spec["classes"],
        "features": past * spec["dimensions"],
        "smoothed_q8": len(terms) if smooths else 0,
        "channels": len(spec["channels"] or ()),
        "telemetry": int(telemetry),
    }
    members = [m for m in structs()["tcuq_monitor"] if m.name != "profile"]
    strange = {m.name for m in members} ^ set(lengths)
    if strange:
        raise ExportError(f"the runtime's memory has other parts than expected: {sorted(strange)}")
    return [(m.ctype, m.name, lengths[m.name]) for m in members if lengths[m.name]]


def monitor_c(spec: Spec, *, telemetry: bool) -> str:
    """Profile, memory and monitor; a size that differs from the header's does not compile."""
    held = memory(spec, telemetry=telemetry)
    whole = " +\n         ".join(f"sizeof state_{name}" for _, name, _ in held)
    number("TCUQ_PROFILE_FORMAT")  # a header without one is none of ours
    return "\n".join(
        [
            ProfileWriter(spec).text(),
            *(f"static {ctype} state_{name}[{length}];" for ctype, name, length in held),
            "\n/* Refused by the compiler: the runtime's state has another size than exported. */",
            f"typedef char tcuq_device_storage_is_exact\n    [({whole}) ==",
            "     TCUQ_DEVICE_STORAGE_BYTES ? 1 : -1];",
            "\nconst tcuq_monitor tcuq_device = {",
            f"    .profile = &{PROFILE},",
            *(f"    .{name} = state_{name}," for _, name, _ in held),
            "};\n",
        ]
    )
