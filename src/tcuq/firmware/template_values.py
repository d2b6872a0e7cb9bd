# SPDX-License-Identifier: Apache-2.0
"""Templates, and the values that a profile gives to their @NAMES@."""

from collections.abc import Mapping
from importlib import resources

import numpy as np

from tcuq.errors import ExportError
from tcuq.firmware.header import member_bytes, number, structs
from tcuq.firmware.profile_c import PARTS, rows
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.settings import InputSettings
from tcuq.version import __version__

Values = dict[str, str]


def render_template(name: str, values: Mapping[str, str]) -> str:
    """A template of this package with its @NAMES@ replaced."""
    text = resources.files("tcuq.firmware").joinpath(f"templates/{name}").read_text("utf-8")
    return fill_template(text, values)


def fill_template(text: str, values: Mapping[str, str]) -> str:
    """Replace the @NAMES@ in a text."""
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def profile_values(profile: Profile, parts: tuple[str, ...]) -> Values:
    """Names, sizes and input formats of a profile in a build with these parts."""
    inputs, scale = profile.inputs, profile.inputs.feature_scale
    engine = Monitor(profile)._engine  # noqa: SLF001 - the device's own figures
    sizes = engine.storage_bytes, len(engine.snapshot())
    storage, snapshot = sizes if "telemetry" in parts else _without_telemetry(*sizes)
    return {
        "VERSION": __version__,
        "SHA256": profile.sha256,
        "HASH8": profile.sha256[:8],
        "FORMAT": str(number("TCUQ_PROFILE_FORMAT")),
        "CLASSES": str(inputs.columns),
        "OUTPUTS": _output_helper(inputs),
        "WIDTH": str(inputs.width),
        "FEATURE_BYTES": str(max(inputs.width, 1)),
        "STORAGE": str(storage),
        "SNAPSHOT": str(snapshot),
        "FEATURE_SCALE": ""
        if scale is None
        else f"#define TCUQ_DEVICE_FEATURE_SCALE {scale!r} /* one int8 step of a feature */\n",
        **{f"WITH_{part.upper()}": str(int(part in parts)) for part in PARTS},
        "PARTS": ", ".join(parts) or "none of the optional ones",
        "POSTERIOR": _posterior_format(profile),
        "FEATURES_TYPE": f"`int8_t[{inputs.width}]`" if inputs.width else "none",
        "FEATURES_FORMAT": f"round(f / {scale!r}), within ±127" if inputs.width else "pass `NULL`",
        "FEATURES_ARGUMENT": "features" if inputs.width else "NULL",
        "FEATURES_ROW": "&features[row * TCUQ_DEVICE_WIDTH]" if inputs.width else "NULL",
        "FEATURE_TABLE": "",
        **_health_values(profile.signals.health_names if "health" in parts else ()),
    }


def _health_values(names: tuple[str, ...]) -> Values:
    """Sizes and formats of the statistics of input health; none where the profile reads none."""
    numbered = ", ".join(f"{number} {name}" for number, name in enumerate(names, start=1))
    result = (
        "| `decision.cause` | with an alarm, the statistic of input health that explains it, or 0:"
        f" {numbered}; `decision.change` is how far it moved, in eighths |\n"
    )
    form = f"round(statistic · 1024), clipped: {', '.join(names)}; `NULL` if a step carries none"
    return {
        "HEALTH_COUNT": str(len(names)),
        "HEALTH_VALUES": str(max(len(names), 1)),
        "HEALTH_TYPE": f"`int16_t[{len(names)}]`" if names else "none",
        "HEALTH_FORMAT": form if names else "pass `NULL`",
        "HEALTH_ARGUMENT": "health" if names else "NULL",
        "HEALTH_ROW": "&health[row * TCUQ_DEVICE_HEALTH]" if names else "NULL",
        "HEALTH_RESULT": result if names else "",
    }


def _output_helper(inputs: InputSettings) -> str:
    """The C function that rounds a model's outputs; none where there are classes."""
    if inputs.outputs is None:
        return ""
    tables = (inputs.outputs.centres, inputs.outputs.scales)
    centres, scales = (", ".join(f"{float(value)!r}f" for value in table) for table in tables)
    count = inputs.columns
    return f"""
/* The model's outputs as the bytes that tcuq_step takes in place of a posterior. */
static inline void tcuq_device_outputs(const float outputs[{count}], uint8_t posterior[{count}])
{{
    static const float centres[{count}] = {{{centres}}};
    static const float scales[{count}] = {{{scales}}};
    for (uint32_t i = 0u; i < {count}u; i++) {{
        const float steps = (outputs[i] - centres[i]) / scales[i];
        const float within = (steps > 127.0f) ? 127.0f : ((steps < -127.0f) ? -127.0f : steps);
        posterior[i] = (uint8_t)(int8_t)((within < 0.0f) ? within - 0.5f : within + 0.5f);
    }}
}}
"""


def _posterior_format(profile: Profile) -> str:
    if profile.inputs.outputs is not None:
        return "the outputs as int8, by `tcuq_device_outputs`"
    formula = "min(round(p · 256), 255)"
    if profile.inputs.kind == "logits":
        return f"first the softmax of the logits, in any arithmetic; then {formula}"
    text = f"{formula}; for an int8 softmax output add 128: `tcuq_device_posterior_of`"
    one_output = "; a single sigmoid gives both bytes: `tcuq_device_sigmoid`"
    return text + (one_output if profile.inputs.classes == 2 else "")


def _without_telemetry(storage: int, snapshot: int) -> tuple[int, int]:
    """Storage and snapshot bytes without the counters, which the host's engine always has."""
    sizes = {member.name: member_bytes(member) for member in structs()["tcuq_telemetry"]}
    in_snapshot = sum(size for name, size in sizes.items() if not name.startswith("reserved"))
    return storage - sum(sizes.values()), snapshot - in_snapshot


def feature_table(profile: Profile, codes: tuple[float, int]) -> tuple[Values, str]:
    """Template values and C table for the network's own int8 features as the monitor's int8."""
    width, monitor_scale = profile.inputs.width, profile.inputs.feature_scale
    if not width or monitor_scale is None:
        return {}, ""
    scale, zero_point = codes
    if not (0 < scale < np.inf and -128 <= zero_point <= 127):
        raise ExportError(
            "feature codes must have a scale above 0 and a zero point of -128..127,"
            f" got {scale}, {zero_point}"
        )
    real = (np.arange(-128, 128) - zero_point) * scale
    table = np.clip(np.rint(real / monitor_scale), -127, 127).astype(int).tolist()
    network = f"int8 of scale {scale!r} and zero point {zero_point}"
    values = {
        "FEATURE_TABLE": f"""extern const int8_t tcuq_device_features[256];

/* Converts one feature of the network ({network}) to the int8 that tcuq_step takes. */
static inline int8_t tcuq_device_feature_of(int8_t code)
{{
    return tcuq_device_features[(uint32_t)((int32_t)code + 128)];
}}
""",
        "FEATURES_FORMAT": f"round(f / {monitor_scale!r}), within ±127; `tcuq_device_feature_of`"
        f" converts from {network}",
    }
    return values, f"\nconst int8_t tcuq_device_features[256] = {{\n    {rows(table)},\n}};\n"
