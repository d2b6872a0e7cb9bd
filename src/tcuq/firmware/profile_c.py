# SPDX-License-Identifier: Apache-2.0
"""A quantised profile as C: its tables, the monitor's memory and the monitor that uses both.

It is a separate translation unit, so that no compiler folds the profile into the runtime.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tcuq.errors import ExportError
from tcuq.firmware.header import INTEGERS, Member, structs
from tcuq.profile.quantize import NO_CLASSES

Spec = Mapping[str, Any]
# Of the runtime, each can be left out.
PARTS = ("classes", "outputs", "anchored", "novelty", "health", "alarm", "telemetry")
PROFILE = "tcuq_device_profile"


def literal(value: int) -> str:
    """An integer literal that gives no compiler warning."""
    if value > 0xFFFFFFFF:
        return f"UINT64_C({value})"
    if value == -(1 << 31):
        return "INT32_MIN"
    return f"{value}u" if value > 0x7FFFFFFF else f"{value}"


def rows(values: Iterable[int]) -> str:
    """Numbers in comma-separated lines of readable length."""
    words = [literal(int(value)) for value in values]
    longest = max(map(len, words), default=0) + 2
    width = max(1, min(16, 96 // longest))
    lines = (", ".join(words[i : i + width]) for i in range(0, len(words), width))
    return ",\n    ".join(lines)


class ProfileWriter:
    """Writes the tables of a profile, then the struct that points to them."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.tables: list[str] = []
        self.names: dict[tuple[str, str], str] = {}  # of the tables, by what they hold

    def text(self) -> str:
        """The C text of the tables and the profile."""
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
        raise ExportError(f"the runtime's profile has a member {name!r} that quantize does not set")

    def _table(self, member: Member, value: Any, suffix: str) -> str:  # noqa: ANN401 - as above
        name = f"{member.name}{suffix}"
        if member.ctype in INTEGERS:
            numbers = rows(_numbers(member, value))
            kind = f"static const {member.ctype} TCUQ_WORD_ALIGNED"
            # Equal tables are one: terms that share it are looked up once.
            name = self.names.setdefault((kind, numbers), name)
            if name == f"{member.name}{suffix}":
                self.tables.append(f"{kind} {name}[] = {{\n    {numbers},\n}};\n")
            return name
        if not value:
            return "NULL"
        parts = [self._struct(member.ctype, row, f"{suffix}_{i}") for i, row in enumerate(value)]
        body = ",\n".join(f"{{\n{part}\n}}" for part in parts)
        self.tables.append(f"static const {member.ctype} {name}[] = {{\n{body},\n}};\n")
        return name


def _numbers(member: Member, value: bytes | Sequence[int]) -> list[int]:
    if isinstance(value, bytes):
        numbers: list[int] = np.frombuffer(value, INTEGERS[member.ctype]).tolist()
        return numbers
    return list(value)


def required_parts(spec: Spec, *, telemetry: bool) -> tuple[str, ...]:
    """The optional parts of the runtime that a quantised profile needs."""
    outputs = spec["blend_q15"] == NO_CLASSES
    required = (
        not outputs, outputs, bool(spec["terms"]), spec["whitening"] is not None,
        bool(spec["health_count"]), bool(spec["channels"]), telemetry,
    )  # fmt: skip
    return tuple(part for part, needed in zip(PARTS, required, strict=True) if needed)


def memory(spec: Spec, *, telemetry: bool) -> list[tuple[str, str, int]]:
    """Type, name and length of each array of state; their sizes add up to the monitor's RAM."""
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
    unknown = {m.name for m in members} ^ set(lengths)
    if unknown:
        raise ExportError(f"tcuq_monitor must point to {sorted(lengths)}, differs in {unknown}")
    return [(m.ctype, m.name, lengths[m.name]) for m in members if lengths[m.name]]


def monitor_c(spec: Spec, *, telemetry: bool) -> str:
    """Profile, memory and monitor; a state size other than the exported one does not compile."""
    arrays = memory(spec, telemetry=telemetry)
    total = " +\n         ".join(f"sizeof state_{name}" for _, name, _ in arrays)
    return "\n".join(
        [
            ProfileWriter(spec).text(),
            *(f"static {ctype} state_{name}[{length}];" for ctype, name, length in arrays),
            "\n/* A compile error here: the runtime's state has another size than exported. */",
            f"typedef char tcuq_device_storage_is_exact\n    [({total}) ==",
            "     TCUQ_DEVICE_STORAGE_BYTES ? 1 : -1];",
            "\ntcuq_monitor tcuq_device = {",
            f"    .profile = &{PROFILE},",
            *(f"    .{name} = state_{name}," for _, name, _ in arrays),
            "};\n",
        ]
    )
