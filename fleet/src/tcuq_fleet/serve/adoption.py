# SPDX-License-Identifier: Apache-2.0
"""Adoption: how many devices run which profile, as the newest judgement counted them."""

from dataclasses import dataclass
from typing import LiteralString

from tcuq_fleet.serve.database import Session

MAX_PROFILES = 100  # listed, those with the most devices

_PROFILES: LiteralString = """
SELECT profile, sum(devices)::bigint AS devices, sum(silent)::bigint AS silent,
    (sum(sum(devices)) OVER ())::bigint AS fleet
FROM profile_counts WHERE %(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s)
GROUP BY profile ORDER BY devices DESC, profile LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class ProfileUse:
    """Devices whose newest record names one profile."""

    profile: int
    devices: int
    silent: int
    fleet: int  # devices of all profiles

    @property
    def share(self) -> float:
        """Their share of all devices."""
        return self.devices / self.fleet


def profiles_in_use(session: Session) -> list[ProfileUse]:
    """Return the profiles with the most devices."""
    return session.rows(ProfileUse, "profiles", _PROFILES, {"limit": MAX_PROFILES})
