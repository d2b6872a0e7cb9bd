# SPDX-License-Identifier: Apache-2.0
"""Queries of changes: the changed devices, and one device's last epoch beside its past."""

from typing import LiteralString

from pydantic import BaseModel, Field, computed_field

from tcuq.causes import meaning
from tcuq.telemetry import EIGHTHS, MEANS, cause_text
from tcuq_fleet.judge.change_words import moved_words
from tcuq_fleet.judge.light import Light, light_of
from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import Group, device_number
from tcuq_fleet.serve.queries import IN_GROUP, PAGE
from tcuq_fleet.wire import DeviceId, FirmwareId, ProfileId

TITLES = {
    "expected_error": "Probable errors, % of steps",
    "health": "Input health, bits",
    "novelty": "Novelty, bits",
    "confidence": "Confidence, bits",
    "label_changes": "Label changes, % of steps",
}
IN_PERCENT = ("expected_error", "label_changes")


class ChangedDevice(BaseModel):
    """A device that changed since its past."""

    device: DeviceId
    profile: ProfileId
    firmware: FirmwareId
    site: str
    name: str | None  # in the registry
    evidence_bits: float  # -log2 of its p-value
    moved: int = Field(exclude=True)
    cause_code: int = Field(exclude=True)
    change_eighths: int = Field(exclude=True)
    last_label: int = Field(exclude=True)
    new_alarms: int = Field(exclude=True)
    health_names: list[str] | None = Field(exclude=True)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def change(self) -> str:
        """What moved most."""
        return moved_words(self.moved)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def meaning(self) -> str:
        """What its own last alarm means, in a sentence, or ""."""
        cause = cause_text(self.cause_code, self.health_names or ())
        return meaning(cause, self.change_eighths / EIGHTHS, self.last_label)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def light(self) -> Light:
        """What its last record says itself."""
        return light_of(self.cause_code, self.new_alarms)


class Mean(BaseModel):
    """A mean of the last epoch, and of all past ones, in the units of its title."""

    title: str
    past: float
    last: float


class ChangeState(BaseModel):
    """A device's last closed epoch beside its past; `changed` is the newest judgement's verdict."""

    epoch: int
    past_epochs: int
    compared: bool
    changed: bool
    change: str
    means: list[Mean]


_CHANGED: LiteralString = (
    """
SELECT device, profile, firmware, sites.name AS site, registry.name,
    evidence_q8 / 256.0 AS evidence_bits, moved, cause AS cause_code, change AS change_eighths,
    label AS last_label, alarms_added AS new_alarms,
    (SELECT health_names FROM profiles WHERE profiles.profile = its_profile) AS health_names
FROM changed JOIN sites USING (site) LEFT JOIN registry USING (device)
    JOIN (SELECT device, profile AS its_profile, cause, change, label, alarms_added FROM devices)
        AS its_state USING (device)
WHERE true
"""  # noqa: S608 - literals
    + IN_GROUP
    + "ORDER BY evidence_q8 DESC, device LIMIT %(limit)s OFFSET %(offset)s"
)
_CHANGED_COUNT: LiteralString = (
    """
SELECT count(*) FROM changed JOIN sites USING (site) WHERE true
"""
    + IN_GROUP
)
_CHANGE_OF: LiteralString = (
    "SELECT c.epoch, c.past_epochs, c.score >= 0, listed.device IS NOT NULL,"
    " coalesce(listed.moved, 0), "
    + ", ".join(f"c.past_{name}, c.last_{name}" for name in MEANS)
    + """
FROM changes AS c JOIN devices AS d USING (device, profile) JOIN sites USING (site)
    LEFT JOIN changed AS listed USING (device)
WHERE c.device = %(device)s
    AND (%(owners)s::integer[] IS NULL OR sites.owner = ANY(%(owners)s))
"""
)


def changed(
    session: Session, group: Group, *, page: int = 1, limit: int = PAGE
) -> list[ChangedDevice]:
    """Return changed devices of a group, those with the most evidence first."""
    values = {"limit": limit, "offset": (page - 1) * limit, **group.numbers}
    return session.page(ChangedDevice, "changed", _CHANGED, values, _order)


def _order(device: ChangedDevice) -> tuple[float, int]:
    return -device.evidence_bits, device_number(device.device)


def count_changed(session: Session, group: Group) -> int:
    """Return how many devices of a group changed."""
    ((count,),) = session.sums("changed_count", _CHANGED_COUNT, dict(group.numbers), 0)
    return int(count)


def change_of(session: Session, device: int) -> ChangeState | None:
    """Return a device's last closed epoch beside its past; None before it closed one."""
    rows = session.tuples("change_of", _CHANGE_OF, {"device": device})
    if not rows:
        return None
    epoch, past_epochs, compared, is_changed, moved, *values = rows[0]
    return ChangeState(
        epoch=epoch,
        past_epochs=past_epochs,
        compared=compared,
        changed=is_changed,
        change=moved_words(moved),
        means=[
            Mean(title=TITLES[name], past=_shown(name, past), last=_shown(name, last))
            for name, past, last in zip(MEANS, values[::2], values[1::2], strict=True)
        ],
    )


def _shown(name: str, value: float) -> float:
    return (100 if name in IN_PERCENT else 1) * value / MEANS[name]
