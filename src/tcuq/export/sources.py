# SPDX-License-Identifier: Apache-2.0
"""The C files that every export has: the runtime, the profile and its self-test."""

from typing import TypedDict, Unpack

from tcuq.errors import ExportError
from tcuq.export.header import structs
from tcuq.export.profile_c import monitor_c, required_parts
from tcuq.export.runtime_files import runtime_digest, runtime_files, uplink_files
from tcuq.export.selftest import selftest_c, vectors
from tcuq.export.template_values import Values, feature_table, profile_values, render_template
from tcuq.profile import Profile
from tcuq.profile.quantize import quantize
from tcuq.stream import Stream

GUARD = "#define TCUQ_H\n"
BUILD_INCLUDE = '\n#include "tcuq_build.h" /* written by tcuq export */\n'
DEVICE_FILES = ("tcuq_build.h", "tcuq_device.h", "tcuq_device.c", "tcuq_device_selftest.c")


class Options(TypedDict, total=False):
    """Options of an export; ``tcuq.export.export`` documents them."""

    telemetry: bool
    uplink: bool
    stream: Stream | None
    feature_codes: tuple[float, int] | None


def shared_sources(profile: Profile, **options: Unpack[Options]) -> tuple[dict[str, str], Values]:
    """The files of the folder `src` by name, and the values for all templates."""
    telemetry, uplink = options.get("telemetry", True), options.get("uplink", False)
    if uplink and not telemetry:
        raise ExportError("the uplink sends the telemetry record: leave out one of the two options")
    spec = quantize(profile)
    runtime = runtime_files(health=spec["health_count"] > 0)
    steps = vectors(profile, options.get("stream"))
    values = profile_values(profile, required_parts(spec, telemetry=telemetry))
    values |= {
        "DIGEST": runtime_digest(runtime),
        "STEPS": str(steps.count),
        "MONITOR": monitor_c(spec, telemetry=telemetry),
        "VECTORS": selftest_c(steps),
        "SAME": " &&\n           ".join(
            f"(left->{m.name} == right->{m.name})" for m in structs()["tcuq_decision"]
        ),
    }
    if codes := options.get("feature_codes"):
        table_values, table = feature_table(profile, codes)
        values |= table_values
        values["MONITOR"] += table
    if GUARD not in runtime["tcuq.h"]:
        raise ExportError("the runtime's header must have an include guard, TCUQ_H")
    runtime["tcuq.h"] = runtime["tcuq.h"].replace(GUARD, GUARD + BUILD_INCLUDE, 1)
    device = {name: render_template(name, values) for name in DEVICE_FILES}
    return runtime | (uplink_files() if uplink else {}) | device, values
