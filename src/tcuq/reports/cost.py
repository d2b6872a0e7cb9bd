# SPDX-License-Identifier: Apache-2.0
"""What the profile costs on the device, as `tcuq size` has it from its table."""

from tcuq.firmware import footprint as size
from tcuq.firmware.instructions import nearest_instructions
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.quantize import quantize

CPU = "cortex-m4"
PARTS = {
    "core": "ledger, bucket, epoch",
    "slots": "past steps",
    "posteriors": "past posteriors",
    "features": "past features",
    "smoothed_q8": "smoothed terms",
    "channels": "alarm channels",
    "telemetry": "telemetry",
}


def costs(profile: Profile) -> dict[str, str]:
    """Return each cost of a profile by name."""
    inputs, built = profile.inputs, size.footprint(profile, CPU)
    nearest = nearest_instructions(profile, CPU)
    statistics = quantize(profile)["health_count"]
    return {
        "RAM, all state": f"{built.ram:,} bytes",
        f"flash, {CPU}": f"{built.flash:,} bytes",
        f"instructions per step, {CPU}": f"{nearest.mean:,}, {nearest.note}",
        "snapshot that survives a power cut": f"{len(Monitor(profile).snapshot()):,} bytes",
        "read at every step": f"{inputs.classes + inputs.width + 2 * statistics:,} bytes",
    }


def ram_parts(profile: Profile) -> list[tuple[str, int]]:
    """Return the bytes of each part of the state on a 32-bit CPU, telemetry included."""
    parts = size.ram_parts(quantize(profile), telemetry=True)
    return [(PARTS[name], count) for name, count in parts.items()]
