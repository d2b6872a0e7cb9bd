# SPDX-License-Identifier: Apache-2.0
"""Checks a JSON document against the subset of JSON Schema that the shipped schemas use.

Written by hand because a schema library would be the core's second dependency, and an error must
fit in one line: the place, the rule, the value. Tests compare it with the `jsonschema` library.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}


def violation(value: object, schema: Schema, place: str = "") -> str | None:  # noqa: PLR0911 - a rule each
    """Name the first rule the value breaks, with its place, or None if it breaks none."""
    if "oneOf" in schema:
        return _violation_by_kind(value, schema["oneOf"], place)
    if "const" in schema and value != schema["const"]:
        return f"{place} must be {schema['const']!r}, got {_short(value)}"
    if "enum" in schema and not (isinstance(value, str) and value in schema["enum"]):
        return f"{place} must be one of {', '.join(schema['enum'])}, got {_short(value)}"
    if "type" in schema and not _has_type(value, schema["type"]):
        wanted = schema["type"] if isinstance(schema["type"], str) else " or ".join(schema["type"])
        return f"{place or 'the document'} must be of type {wanted}, got {_short(value)}"
    match value:
        case dict():
            return _object_violation(value, schema, place)
        case list():
            return _array_violation(value, schema, place)
        case str():
            return _string_violation(value, schema, place)
        case int() | float():
            return _number_violation(value, schema, place)
    return None


def _has_type(value: object, wanted: str | list[str]) -> bool:
    names = [wanted] if isinstance(wanted, str) else wanted
    return any(isinstance(value, _TYPES[n]) and not isinstance(value, bool) for n in names)


def _violation_by_kind(value: object, branches: list[Schema], place: str) -> str | None:
    """Choose the branch by `kind`, so that the error is about the right one."""
    if not isinstance(value, dict):
        return f"{place} must be of type object, got {_short(value)}"
    kinds = [branch["properties"]["kind"]["const"] for branch in branches]
    if not isinstance(value.get("kind"), str) or value["kind"] not in kinds:
        return f"{place}.kind must be one of {', '.join(kinds)}, got {_short(value.get('kind'))}"
    return violation(value, branches[kinds.index(value["kind"])], place)


def _object_violation(value: dict[str, Any], schema: Schema, place: str) -> str | None:
    prefix = f"{place}." if place else ""
    for name in schema.get("required", ()):
        if name not in value:
            return f"{prefix}{name} is missing"
    if len(value) > schema.get("maxProperties", math.inf):
        return f"{place} must have at most {schema['maxProperties']} members, got {len(value)}"
    known = schema.get("properties", {})
    for name, member in value.items():
        rule = known.get(name, schema.get("additionalProperties", False))
        if rule is False:
            return f"{prefix}{_short(name)} is not a known member"
        broken = violation(member, rule, f"{prefix}{name if name in known else _short(name)}")
        if broken:
            return broken
    return None


def _array_violation(value: list[Any], schema: Schema, place: str) -> str | None:
    low, high = schema["minItems"], schema["maxItems"]
    if not low <= len(value) <= high:
        return f"{place} must have {low} to {high} items, got {len(value)}"
    for index, item in enumerate(value):
        broken = violation(item, schema["items"], f"{place}[{index}]")
        if broken:
            return broken
    return None


def _string_violation(value: str, schema: Schema, place: str) -> str | None:
    if len(value) > schema.get("maxLength", math.inf):
        return f"{place} must be at most {schema['maxLength']} characters, got {len(value)}"
    if "pattern" in schema and not re.fullmatch(schema["pattern"].strip("^$"), value):
        return f"{place} must match {schema['pattern']}, got {_short(value)}"
    return None


def _number_violation(value: float, schema: Schema, place: str) -> str | None:
    if "minimum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        return f"{place} must lie in {schema['minimum']}..{schema['maximum']}, got {_short(value)}"
    return None


def _short(value: object) -> str:
    if isinstance(value, int) and abs(value) >= 10**40:
        return "an integer of over 40 digits"  # repr itself refuses integers of over 4300
    text = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."
