# SPDX-License-Identifier: Apache-2.0
"""Rankings by estimated accuracy, which the judge writes with each judgement."""

from datetime import datetime
from typing import LiteralString

from pydantic import BaseModel

from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import Group, device_number
from tcuq_fleet.serve.queries import IN_GROUP, MAX_CHOICES, PAGE
from tcuq_fleet.wire import DeviceId, FirmwareId, ProfileId


class LeastAccurate(BaseModel):
    """A device on the judge's list of devices with the lowest estimated accuracy."""

    device: DeviceId
    profile: ProfileId
    firmware: FirmwareId
    site: str
    estimated_accuracy: float
    past_accuracy: float | None  # mean of its earlier epochs with this profile
    name: str | None  # in the registry


class AccuracyHour(BaseModel):
    """The mean estimated accuracy of a firmware version's devices in one hour."""

    hour: datetime
    firmware: FirmwareId
    devices: int
    estimated_accuracy: float


class FirmwareAccuracy(BaseModel):
    """The mean estimated accuracy of the devices that run a firmware version."""

    firmware: FirmwareId
    devices: int  # that have an estimate
    estimated_accuracy: float


_LEAST_ACCURATE: LiteralString = (
    """
SELECT device, least.profile, firmware, sites.name AS site, 1 - expected_error / 16384.0
    AS estimated_accuracy, 1 - past_expected_error / 16384.0 AS past_accuracy, registry.name
FROM least_accurate AS least JOIN sites USING (site) LEFT JOIN registry USING (device)
    LEFT JOIN (SELECT device AS past_device, profile AS past_profile, past_expected_error
        FROM changes WHERE past_epochs > 0) AS past
        ON past_device = device AND past_profile = least.profile
WHERE true
"""  # noqa: S608 - literals
    + IN_GROUP
    + "ORDER BY expected_error DESC, device LIMIT %(limit)s OFFSET %(offset)s"
)
_FIRMWARE_ACCURACY: LiteralString = """
SELECT firmware, sum(devices)::bigint AS devices,
    (1 - sum(expected_error) / sum(devices) / 16384.0)::float AS estimated_accuracy
FROM firmware_accuracy WHERE %(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s)
GROUP BY firmware ORDER BY estimated_accuracy, firmware LIMIT %(limit)s
"""


_TREND: LiteralString = """
SELECT hour, firmware, sum(devices)::bigint AS devices,
    (1 - sum(expected_error) / sum(devices) / 16384.0)::float AS estimated_accuracy
FROM accuracy_hours WHERE hour > now() - %(hours)s * interval '1 hour'
    AND (%(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s))
GROUP BY hour, firmware ORDER BY hour, firmware
"""


def least_accurate(
    session: Session, group: Group, *, page: int = 1, limit: int = PAGE
) -> list[LeastAccurate]:
    """Return devices of a group, the lowest estimated accuracy first."""
    values = {"limit": limit, "offset": (page - 1) * limit, **group.numbers}
    return session.page(LeastAccurate, "least_accurate", _LEAST_ACCURATE, values, _order)


def _order(device: LeastAccurate) -> tuple[float, int]:
    return device.estimated_accuracy, device_number(device.device)


def firmware_accuracy(session: Session) -> list[FirmwareAccuracy]:
    """Return firmware versions, the lowest mean of estimated accuracy first."""
    values = {"limit": MAX_CHOICES}
    return session.rows(FirmwareAccuracy, "firmware_accuracy", _FIRMWARE_ACCURACY, values)


def accuracy_trend(session: Session, count: int) -> list[AccuracyHour]:
    """Return the mean estimated accuracy of each firmware version in the last hours."""
    return session.rows(AccuracyHour, "accuracy_trend", _TREND, {"hours": count})
