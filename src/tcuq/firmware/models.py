# SPDX-License-Identifier: Apache-2.0
"""Models of one export folder: each has a name of its own, all share one runtime."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tcuq.errors import ExportError

DEFAULT_NAME = "device"
NAME = re.compile(r"[a-z][a-z0-9_]{0,23}")
WORD = re.compile(r"\w+")
OWN_WORD = re.compile(rf"tcuq_{DEFAULT_NAME}|TCUQ_{DEFAULT_NAME.upper()}")


@dataclass(frozen=True, slots=True)
class Model:
    """A model in an export folder: its profile, and what it needs of the shared sources."""

    profile: str
    parts: tuple[str, ...]
    extras: tuple[str, ...]  # "uplink", "ota": code beside the runtime
    files: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The entry in the folder's manifest."""
        return asdict(self)


def parse_models(document: Mapping[str, Any], files: Collection[str]) -> dict[str, Model]:
    """The models of a manifest by name, with those of its files that they own."""
    return {
        str(name): Model(
            str(entry["profile"]),
            tuple(map(str, entry["parts"])),
            tuple(map(str, entry["extras"])),
            tuple(path for path in entry["files"] if path in files),
        )
        for name, entry in document.get("models", {}).items()
    }


def rename(text: str, name: str) -> str:
    """A text with the symbols, macros and files of the default name under another name."""
    own = text.replace(f"tcuq_{DEFAULT_NAME}", f"tcuq_{name}")
    return own.replace(f"TCUQ_{DEFAULT_NAME.upper()}", f"TCUQ_{name.upper()}")


def check_name(name: str, generated: Iterable[str], shared: Iterable[str]) -> None:
    """Refuse a name that is none in C, or whose symbols the code that all models share also has."""
    if not NAME.fullmatch(name):
        raise ExportError(
            "a model's name must be a lower-case letter and at most 23 letters, digits or"
            f" underscores, got {name!r}"
        )
    words = {word for text in generated for word in WORD.findall(text) if OWN_WORD.match(word)}
    reserved = {word for text in shared for word in WORD.findall(text)}
    collisions = sorted({rename(word, name) for word in words} & reserved)
    if collisions:
        raise ExportError(
            f"a model must not be named {name!r}: the runtime has {collisions[0]} too;"
            " choose another name"
        )


def check_telemetry(parts: Collection[str], others: Mapping[str, Model]) -> None:
    """Refuse models that count beside models that do not: all share one build of the runtime."""
    for other, model in others.items():
        if ("telemetry" in parts) != ("telemetry" in model.parts):
            raise ExportError(
                "all models of a folder must have telemetry, or none of them:"
                f" {other!r} was exported {'with' if 'telemetry' in model.parts else 'without'} it"
            )
