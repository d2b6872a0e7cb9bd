# SPDX-License-Identifier: Apache-2.0
"""The C files that every export has: the runtime, and each model's profile and self-test."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, TypedDict, Unpack

from tcuq.errors import ExportError
from tcuq.firmware.blob import room_c
from tcuq.firmware.header import structs
from tcuq.firmware.one_file import one_file
from tcuq.firmware.profile_c import PARTS, monitor_c, required_parts
from tcuq.firmware.runtime_files import (
    COMMENTS,
    ota_files,
    runtime_digest,
    runtime_files,
    uplink_files,
)
from tcuq.firmware.selftest import selftest_c, vectors
from tcuq.firmware.template_values import Values, feature_table, profile_values, render_template
from tcuq.profile import Profile
from tcuq.profile.quantize import quantize
from tcuq.stream import Stream
from tcuq.version import __version__

DEVICE_FILES = ("tcuq_device.h", "tcuq_device.c", "tcuq_device_selftest.c")
EXTRAS: Mapping[str, Callable[[], dict[str, str]]] = MappingProxyType(
    {"uplink": uplink_files, "ota": ota_files}
)
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
    reserved = {word for text in shared for word in WORD.findall(COMMENTS.sub(" ", text))}
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


ALONE: Mapping[str, Model] = MappingProxyType({})


class Options(TypedDict, total=False):
    """Options of an export; ``tcuq.firmware.export`` documents them."""

    name: str
    telemetry: bool
    uplink: bool
    ota: bool
    stream: Stream | None
    feature_codes: tuple[float, int] | None


def shared_sources(
    profile: Profile, others: Mapping[str, Model] = ALONE, **options: Unpack[Options]
) -> tuple[dict[str, str], Values, Model]:
    """The files of the folder `src` by name, the values for all templates, and the model.

    The runtime has the parts that this model and the other models of the folder need.
    """
    name = options.get("name", DEFAULT_NAME)
    telemetry, uplink = options.get("telemetry", True), options.get("uplink", False)
    if uplink and not telemetry:
        raise ExportError("the uplink sends the telemetry record: leave out one of the two options")
    spec = quantize(profile)
    parts = required_parts(spec, telemetry=telemetry)
    check_telemetry(parts, others)
    built = {*parts, *(part for model in others.values() for part in model.parts)}
    runtime = runtime_files(health="health" in built)
    extras = tuple(extra for extra in EXTRAS if options.get(extra, False))
    wanted = {*extras, *(extra for model in others.values() for extra in model.extras)}
    for extra in sorted(wanted):
        runtime |= EXTRAS[extra]()
    steps = vectors(profile, options.get("stream"))
    values = profile_values(profile, parts)
    values |= {f"WITH_{part.upper()}": str(int(part in built)) for part in PARTS}
    values |= {
        "DIGEST": runtime_digest(runtime_files()),
        **{f"WITH_{extra.upper()}": str(int(extra in wanted)) for extra in EXTRAS},
        "CHECK_PROFILE": str(int("ota" in wanted)),
        "STEPS": str(steps.count),
        "MONITOR": monitor_c(spec, telemetry=telemetry),
        "OTA": "",
        "VECTORS": selftest_c(steps),
        "SAME": " &&\n           ".join(
            f"(left->{m.name} == right->{m.name})" for m in structs()["tcuq_decision"]
        ),
    }
    if "ota" in extras:
        values["OTA"] = render_template("tcuq_device_ota.h", values)
        values["MONITOR"] += room_c(profile, spec, telemetry=telemetry)
    if codes := options.get("feature_codes"):
        table_values, table = feature_table(profile, codes)
        values |= table_values
        values["MONITOR"] += table
    runtime = one_file(runtime, render_template("tcuq_build.h", values), __version__)
    device = {file: render_template(file, values) for file in DEVICE_FILES}
    reserved = runtime_files() | uplink_files() | ota_files()
    check_name(name, [*device, *device.values()], [*reserved, *reserved.values()])
    device = {rename(file, name): rename(text, name) for file, text in device.items()}
    model = Model(profile.sha256, parts, extras, tuple(f"src/{file}" for file in device))
    return runtime | device, values, model
