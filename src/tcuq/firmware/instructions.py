# SPDX-License-Identifier: Apache-2.0
"""Instructions of one step, counted in the emulator for the standard profiles.

Nothing is predicted for another profile: it is answered with the nearest standard profile and
with what that one is. The counts are in footprint.json.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tcuq.firmware.cpus import CPUS
from tcuq.firmware.footprint import check_build, measured_table
from tcuq.firmware.profile_c import Spec, required_parts
from tcuq.profile import Profile
from tcuq.profile.quantize import quantize

NOTE = "measured for the nearest standard profile, yours may differ"


@dataclass(frozen=True, slots=True)
class StepInstructions:
    """Instructions of one step of a standard profile on one CPU, and what was measured."""

    mean: int
    worst: int
    profile: str
    classes: int
    features: int
    lags: int
    terms: int  # of the anchored score
    parts: tuple[str, ...]
    steps: int
    flags: str
    note: str = NOTE

    @property
    def size(self) -> str:
        """The size of the standard profile in words."""
        return (
            f"{self.classes} classes, {self.features} features, {self.lags} lags,"
            f" {self.terms} score terms"
        )


def nearest_instructions(
    profile: Profile, cpu: str = "cortex-m4", *, optimise: str = "-Os", telemetry: bool = True
) -> StepInstructions:
    """The counts of the nearest standard profile.

    Nearest is the profile with the fewest differing parts of the runtime, then with the smallest
    sum of differences in classes, features, lags and score terms.

    Examples
    --------
    >>> from tcuq.demo import demo_profile
    >>> nearest_instructions(demo_profile()).profile
    'recommended preset on the demo streams'
    """
    check_build(cpu, optimise)
    spec = quantize(profile)
    shape, parts = profile_shape(spec), set(required_parts(spec, telemetry=telemetry))
    table = measured_table()
    name, nearest = min(
        table["standard_profiles"].items(),
        key=lambda item: _distance(item[1]["measured"], shape, parts),
    )
    return StepInstructions(
        profile=name,
        **nearest["measured"] | {"parts": tuple(nearest["measured"]["parts"])},
        **nearest["instructions"][cpu][optimise],
        flags=" ".join((*CPUS[cpu].flags, optimise, *table["flags"])),
    )


def _distance(
    measured: Mapping[str, Any], shape: Mapping[str, int], parts: set[str]
) -> tuple[int, int]:
    differences = (abs(measured[name] - value) for name, value in shape.items())
    return len(parts.symmetric_difference(measured["parts"])), sum(differences)


def profile_shape(spec: Spec) -> dict[str, int]:
    """The counts that tell one quantised profile from another."""
    return {
        "classes": spec["classes"],
        "features": spec["width"],
        "lags": len(spec["lags"]),
        "terms": len(spec["terms"] or ()),
    }
