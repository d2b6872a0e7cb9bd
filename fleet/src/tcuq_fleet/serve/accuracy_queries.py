# SPDX-License-Identifier: Apache-2.0
"""Rankings by estimated accuracy, which the judge writes with each judgement."""

from typing import LiteralString

from pydantic import BaseModel

from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import Group
from tcuq_fleet.serve.queries import IN_GROUP, MAX_CHOICES, PAGE
from tcuq_fleet.wire import DeviceId, FirmwareId, ProfileId


class LeastAccurate(BaseModel):
    """A device on the judge's list of devices with the lowest estimated accuracy."""

    device: DeviceId
    profile: ProfileId
    firmware: FirmwareId
    site: str
    estimated_accuracy: float
    name: str | None  # in the registry


class FirmwareAccuracy(BaseModel):
    """The mean estimated accuracy of the devices that run a firmware version."""

    firmware: FirmwareId
    devices: int  # that have an estimate
    estimated_accuracy: float


_LEAST_ACCURATE: LiteralString = (
    """
SELECT device, profile, firmware, sites.name AS site, 1 - expected_error / 16384.0
    AS estimated_accuracy, registry.name
FROM least_accurate JOIN sites USING (site) LEFT JOIN registry USING (device) WHERE true
"""
    + IN_GROUP
    + "ORDER BY expected_error DESC, device LIMIT %(limit)s OFFSET %(offset)s"
)
_FIRMWARE_ACCURACY: LiteralString = """
SELECT firmware, sum(devices)::bigint AS devices,
    (1 - sum(expected_error) / sum(devices) / 16384.0)::float AS estimated_accuracy
FROM firmware_accuracy WHERE %(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s)
GROUP BY firmware ORDER BY estimated_accuracy, firmware LIMIT %(limit)s
"""


def least_accurate(
    session: Session, group: Group, *, page: int = 1, limit: int = PAGE
) -> list[LeastAccurate]:
    """Return devices of a group, the lowest estimated accuracy first."""
    values = {"limit": limit, "offset": (page - 1) * limit, **group.numbers}
    return session.rows(LeastAccurate, "least_accurate", _LEAST_ACCURATE, values)


def firmware_accuracy(session: Session) -> list[FirmwareAccuracy]:
    """Return firmware versions, the lowest mean of estimated accuracy first."""
    values = {"limit": MAX_CHOICES}
    return session.rows(FirmwareAccuracy, "firmware_accuracy", _FIRMWARE_ACCURACY, values)
