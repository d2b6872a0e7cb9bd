# SPDX-License-Identifier: Apache-2.0
"""The runtime's header, read: the members of its structs and its numbers.

It is the only description of the profile's layout, so the exporter asks it instead of keeping
a second one. Written by hand because a C parser would be a dependency for forty lines of one style.
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
DEFINED = re.compile(r"^#define (\w+) (\d+)u?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a struct: a value, a pointer or an array of a type."""

    name: str
    ctype: str
    shape: Literal["value", "pointer", "array"]
    length: str = "1"  # of an array: a number, or the name of one


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
        found = MEMBER.fullmatch(line)
        if line and found is None:
            raise ExportError(f"{struct} of the runtime has a member of no known form: {line!r}")
        if found is not None:
            shape = "pointer" if found[2] else "array" if found[4] else "value"
            length = found[4] or "1"
            members.append(Member(found[3], found[1], shape, length))  # type: ignore[arg-type]
    return members


@cache
def number(name: str) -> int:
    """A number, or one that the header defines."""
    if name.isdigit():
        return int(name)
    defined = dict(DEFINED.findall(COMMENT.sub("", header_text()).replace(" \n", "\n")))
    if name not in defined:
        raise ExportError(f"the runtime's header must define {name} as a number")
    return int(defined[name])


BYTES = {"uint8_t": 1, "int8_t": 1, "uint16_t": 2, "int16_t": 2, "uint32_t": 4, "int32_t": 4,
         "uint64_t": 8, "int64_t": 8}  # fmt: skip
POINTER_BYTES = 4  # of every CPU this runs on


@cache
def size_of(ctype: str) -> tuple[int, int]:
    """Size and alignment of a type on a 32-bit CPU: members in order, each at its own alignment."""
    if ctype in BYTES:
        return BYTES[ctype], BYTES[ctype]
    if ctype not in structs():
        raise ExportError(f"the runtime's header says nothing of the size of {ctype!r}")
    end, alignment = 0, 1
    for member in structs()[ctype]:
        size, own = (POINTER_BYTES,) * 2 if member.shape == "pointer" else size_of(member.ctype)
        end = _up(end, own) + size * number(member.length)
        alignment = max(alignment, own)
    return _up(end, alignment), alignment


def _up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
