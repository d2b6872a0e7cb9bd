# SPDX-License-Identifier: Apache-2.0
"""The sources every export shares: the runtime, the profile, its self-test, and their facts."""

import hashlib
from importlib import resources
from typing import Any

import numpy as np

from tcuq.errors import ExportError
from tcuq.export.header import number, structs
from tcuq.export.profile_c import monitor_c
from tcuq.export.selftest import selftest_c, vectors
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.quantize import quantize
from tcuq.stream import Stream
from tcuq.version import __version__

FOR_THE_PROOF = "tcuq_acsl"  # read by Frama-C, never by a compiler
GUARD = "#define TCUQ_H\n"
SEE = '\n#include "tcuq_build.h" /* written by tcuq export */\n'

Facts = dict[str, str]


def filled(template: str, facts: Facts) -> str:
    """A template of this package with its @NAMES@ put in."""
    text = resources.files("tcuq.export").joinpath(f"templates/{template}").read_text("utf-8")
    for name, value in facts.items():
        text = text.replace(f"@{name}@", value)
    return text


def runtime_sources() -> dict[str, str]:
    """The runtime's files by name, as they are."""
    return _c_files("runtime")


def _c_files(folder_name: str) -> dict[str, str]:
    folder = resources.files("tcuq").joinpath(folder_name)
    return {
        file.name: file.read_text("utf-8")
        for file in sorted(folder.iterdir(), key=lambda f: f.name)
        if file.name.endswith((".c", ".h")) and not file.name.startswith(FOR_THE_PROOF)
    }


def runtime_digest(files: dict[str, str]) -> str:
    """Eight digits that change with any byte of the runtime."""
    digest = hashlib.sha256()
    for name, text in files.items():
        digest.update(f"{name}\0{len(text)}\0{text}".encode())
    return digest.hexdigest()[:8]


def parts_needed(spec: dict[str, Any], *, telemetry: bool) -> dict[str, bool]:
    """Which parts of the runtime a quantised profile needs."""
    return {
        "anchored": bool(spec["terms"]),
        "novelty": spec["whitening"] is not None,
        "alarm": bool(spec["channels"]),
        "telemetry": telemetry,
    }


def shared_sources(
    profile: Profile,
    *,
    telemetry: bool = True,
    uplink: bool = False,
    stream: Stream | None = None,
    feature_codes: tuple[float, int] | None = None,
) -> tuple[dict[str, str], Facts]:
    """Files for `src`, and what templates say of the profile."""
    if uplink and not telemetry:
        raise ExportError("the uplink sends telemetry's record; leave out one of the two options")
    spec, runtime = quantize(profile), runtime_sources()
    found = vectors(profile, stream)
    facts = _facts(profile, spec, telemetry=telemetry)
    facts["DIGEST"], facts["STEPS"] = runtime_digest(runtime), str(found.steps)
    facts |= _feature_table(profile, feature_codes)
    facts["MONITOR"] = monitor_c(spec, telemetry=telemetry) + facts.pop("FEATURE_VALUES")
    facts["VECTORS"] = selftest_c(found)
    facts["SAME"] = " &&\n           ".join(
        f"(left->{m.name} == right->{m.name})" for m in structs()["tcuq_decision"]
        if m.name != "reserved"
    )  # fmt: skip
    facts["FEATURES"] = "&features[row * TCUQ_DEVICE_WIDTH]" if profile.inputs.width else "NULL"
    if GUARD not in runtime["tcuq.h"]:
        raise ExportError("the runtime's header has no guard to put its build behind")
    runtime["tcuq.h"] = runtime["tcuq.h"].replace(GUARD, GUARD + SEE, 1)
    own = ("tcuq_build.h", "tcuq_device.h", "tcuq_device.c", "tcuq_device_selftest.c")
    sent = _c_files("uplink") if uplink else {}
    return runtime | sent | {name: filled(name, facts) for name in own}, facts


def _facts(profile: Profile, spec: dict[str, Any], *, telemetry: bool) -> Facts:
    inputs, scale = profile.inputs, profile.inputs.feature_scale
    engine = Monitor(profile)._engine  # noqa: SLF001 - the device's own figures
    parts = parts_needed(spec, telemetry=telemetry)
    held = engine.storage_bytes, len(engine.snapshot())
    storage, snapshot = held if telemetry else _without_telemetry(*held)
    return {
        "VERSION": __version__,
        "SHA256": profile.sha256,
        "HASH8": profile.sha256[:8],
        "FORMAT": str(number("TCUQ_PROFILE_FORMAT")),
        "CLASSES": str(inputs.classes),
        "WIDTH": str(inputs.width),
        "FEATURE_BYTES": str(max(inputs.width, 1)),
        "STORAGE": str(storage),
        "SNAPSHOT": str(snapshot),
        "FEATURE_SCALE": ""
        if scale is None
        else f"#define TCUQ_DEVICE_FEATURE_SCALE {scale!r} /* one int8 step of a feature */\n",
        **{name.upper(): str(int(built)) for name, built in parts.items()},
        "PARTS": ", ".join(name for name, built in parts.items() if built)
        or "none of the optional",
        "POSTERIOR": _posterior_text(profile),
        "FEATURES_TYPE": f"`int8_t[{inputs.width}]`" if inputs.width else "none",
        "FEATURES_HOW": f"round(f / {scale!r}), within ±127" if inputs.width else "pass `NULL`",
        "FEATURES_ARGUMENT": "features" if inputs.width else "NULL",
    }


def _posterior_text(profile: Profile) -> str:
    made = "min(round(p · 256), 255)"
    if profile.inputs.kind == "logits":
        return f"softmax of the logits first, in any arithmetic; then {made}"
    return f"{made}; an int8 softmax output is this plus 128: `tcuq_device_posterior_of`"


def _without_telemetry(storage: int, snapshot: int) -> tuple[int, int]:
    """Less the counters, which the host's engine always keeps."""
    bytes_of = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4}
    members = structs()["tcuq_telemetry"]
    bins = number("TCUQ_HISTOGRAM_BINS")
    sizes = {m.name: bytes_of[m.ctype] * (bins if m.shape == "array" else 1) for m in members}
    kept = sum(size for name, size in sizes.items() if not name.startswith("reserved"))
    return storage - sum(sizes.values()), snapshot - kept


def _feature_table(profile: Profile, codes: tuple[float, int] | None) -> Facts:
    """A table from the network's own int8 features to the monitor's, if their scale is said."""
    width, wanted = profile.inputs.width, profile.inputs.feature_scale
    if codes is None or not width or wanted is None:
        return {"FEATURE_TABLE": "", "FEATURE_VALUES": ""}
    scale, zero_point = codes
    if not (0 < scale < np.inf and -128 <= zero_point <= 127):
        raise ExportError(
            "feature codes must have a scale above 0 and a zero point of -128..127,"
            f" got {scale}, {zero_point}"
        )
    real = (np.arange(-128, 128) - zero_point) * scale
    made = np.clip(np.rint(real / wanted), -127, 127).astype(int).tolist()
    lines = ",\n".join("    " + ", ".join(map(str, made[i : i + 16])) for i in range(0, 256, 16))
    said = f"A feature of the network, int8 of scale {scale!r} and zero point {zero_point}"
    return {
        "FEATURE_TABLE": f"""extern const int8_t tcuq_device_features[256];

/* {said}, as the byte that tcuq_step takes. */
static inline int8_t tcuq_device_feature_of(int8_t code)
{{
    return tcuq_device_features[(uint32_t)((int32_t)code + 128)];
}}
""",
        "FEATURE_VALUES": f"\nconst int8_t tcuq_device_features[256] = {{\n{lines},\n}};\n",
        "FEATURES_HOW": f"round(f / {wanted!r}), within ±127: `tcuq_device_feature_of` does it for"
        f" int8 of scale {scale!r} and zero point {zero_point}",
    }
