# SPDX-License-Identifier: Apache-2.0
"""The firmware's monitor as C: profile and memory as `tcuq export` writes them, under our name."""

from collections.abc import Mapping
from typing import Any

from tcuq.export.profile_c import PROFILE, ProfileWriter, memory


def write_c(spec: Mapping[str, Any], *, telemetry: bool) -> str:
    """The C file of `tcuq.profile.quantize.quantize(profile)`.

    State is named `state_*`: what the monitor costs in RAM is the sum of their sizes.
    """
    members = memory(spec, telemetry=telemetry)
    parts = [
        "/* SPDX-License-Identifier: Apache-2.0 */",
        f"/* tools/firmware/export.py made this from profile {spec['hash']:08x}; do not edit. */",
        '#include "monitor.h"\n',
        ProfileWriter(spec).text(),
        *(f"static {ctype} state_{name}[{length}];" for ctype, name, length in members),
        "\nconst tcuq_monitor firmware_monitor = {",
        f"    .profile = &{PROFILE},",
        *(f"    .{name} = state_{name}," for _, name, _ in members),
        "};",
    ]
    return "\n".join(parts) + "\n"
