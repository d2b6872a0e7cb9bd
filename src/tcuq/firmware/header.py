# SPDX-License-Identifier: Apache-2.0
"""Parser of the runtime's header: its structs, their sizes and its numeric constants.

The header is the only description of the profile's layout, so the exporter reads it instead of
keeping a second copy. A C parser would be a dependency for forty lines of one fixed style.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from tcuq.errors import ExportError

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STRUCT = re.compile(r"typedef struct \{(.*?)\} (\w+);", re.DOTALL)
MEMBER = re.compile(r"(?:const )?(\w+) (\*?)(\w+)(?:\[(\w+)\])?")
CONSTANT = re.compile(r"^#define (\w+) (\d+)u?$", re.MULTILINE)
# NumPy's little-endian type of each C integer; the last digit is its size in bytes.
INTEGERS = {
    "uint8_t": "u1", "int8_t": "i1", "uint16_t": "<u2", "int16_t": "<i2", "uint32_t": "<u4",
    "int32_t": "<i4", "uint64_t": "<u8", "int64_t": "<i8",
}  # fmt: skip
POINTER_BYTES = 4  # on every supported CPU


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a struct: a value, a pointer or an array of a type."""

    name: str
    ctype: str
    shape: Literal["value", "pointer", "array"]
    length: str = "1"  # of an array: a number, or the name of a constant


@cache
def header_text() -> str:
    """The runtime's public header."""
    return resources.files("tcuq").joinpath("runtime/tcuq.h").read_text("utf-8")


@cache
def structs() -> dict[str, tuple[Member, ...]]:
    """The members of every struct, in order."""
    text = COMMENT.sub("", header_text())
    return {name: tuple(_members(body, name)) for body, name in STRUCT.findall(text)}


def _members(body: str, struct: str) -> list[Member]:
    members = []
    for line in (part.strip() for part in body.split(";")):
        match = MEMBER.fullmatch(line)
        if line and match is None:
            raise ExportError(f"{struct} of the runtime has a member of unknown form: {line!r}")
        if match is not None:
            shape = "pointer" if match[2] else "array" if match[4] else "value"
            length = match[4] or "1"
            members.append(Member(match[3], match[1], shape, length))  # type: ignore[arg-type]
    return members


@cache
def number(name: str) -> int:
    """The value of a numeral or of a constant that the header defines."""
    if name.isdigit():
        return int(name)
    constants = dict(CONSTANT.findall(COMMENT.sub("", header_text()).replace(" \n", "\n")))
    if name not in constants:
        raise ExportError(f"the runtime's header must define {name} as a number")
    return int(constants[name])


@cache
def size_of(ctype: str) -> tuple[int, int]:
    """Size and alignment of a type on a 32-bit CPU: members in order, each at its own alignment."""
    if ctype in INTEGERS:
        size = int(INTEGERS[ctype][-1])
        return size, size
    if ctype not in structs():
        raise ExportError(f"the runtime's header must define the type {ctype!r}")
    end, alignment = 0, 1
    for member in structs()[ctype]:
        _, own = (POINTER_BYTES,) * 2 if member.shape == "pointer" else size_of(member.ctype)
        end = align(end, own) + member_bytes(member)
        alignment = max(alignment, own)
    return align(end, alignment), alignment


def member_bytes(member: Member) -> int:
    """Bytes that a member takes in its struct."""
    size = POINTER_BYTES if member.shape == "pointer" else size_of(member.ctype)[0]
    return size * number(member.length)


def align(size: int, alignment: int) -> int:
    """The smallest multiple of an alignment that holds a size."""
    return -(-size // alignment) * alignment
