# SPDX-License-Identifier: Apache-2.0
"""One device: its latest state, and what each of its epochs added to the counters."""

from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise
from typing import Literal, LiteralString, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, computed_field

from tcuq.causes import meaning
from tcuq.telemetry import EIGHTHS, MEANS, cause_text
from tcuq_fleet.judge.light import Light, light_of
from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import Group, device_number
from tcuq_fleet.wire import DeviceId, FirmwareId, ProfileId, device_name

EPOCHS = 60
BINS = 16
UNITS_PER_BIT = 256  # a judged device's evidence counts 1/256 bit
LEVELS = MEANS["expected_error"]
HALF_BITS = 2  # an epoch's evidence counts half bits


class DeviceState(BaseModel):
    """A device's latest record, and its evidence in the last judgement."""

    device: DeviceId
    name: str | None  # in the registry
    owner: str | None
    owner_number: int = Field(exclude=True)  # 0: none
    state: Literal["active", "retired"]
    muted_until: datetime | None  # in the future
    note: str | None
    changed_by: str | None  # of its entry in the registry
    quarantined_boot: int | None  # of a record that is held back
    profile: ProfileId
    firmware: FirmwareId
    site: str
    last_seen: datetime
    boot: int
    sequence: int
    steps: int
    abstained: int
    denied: int
    exceeded: int
    alarms: int
    epoch: int
    running_bits: float  # evidence of the running epoch
    closed_epoch: int | None
    closed_bits: float | None
    estimated_accuracy: float | None  # of that epoch, or of the first one so far
    judged_q8: int | None = Field(exclude=True)  # None: no evidence of its firmware alone yet
    suspected_q8: int | None = Field(exclude=True)
    cause_code: int = Field(exclude=True)
    new_alarms: int = Field(exclude=True)
    change_eighths: int = Field(exclude=True)
    last_label: int = Field(exclude=True)
    health_names: list[str] | None = Field(exclude=True)  # of its profile, if registered
    histogram_shift: int = Field(exclude=True)
    histogram: bytes = Field(exclude=True)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cause(self) -> str:
        """The cause of its last alarm in words, or ""."""
        return cause_text(self.cause_code, self.health_names or ())

    @computed_field  # type: ignore[prop-decorator]
    @property
    def meaning(self) -> str:
        """What its last alarm means, in a sentence, or ""."""
        return meaning(self.cause, self.change_eighths / EIGHTHS, self.last_label)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def light(self) -> Light:
        """What its last record says itself."""
        return light_of(self.cause_code, self.new_alarms)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def evidence_bits(self) -> float | None:
        """The evidence by which it is judged."""
        return None if self.judged_q8 is None else self.judged_q8 / UNITS_PER_BIT

    @property
    def group(self) -> Group:
        """The device's cohort."""
        return Group(self.profile, self.firmware, self.site)

    def is_discovered(self, cutoffs_q8: Mapping[int, int]) -> bool:
        """Return whether the device is a suspect with at least its owner's evidence."""
        cutoff_q8 = cutoffs_q8.get(self.owner_number)
        if self.suspected_q8 is None or cutoff_q8 is None:
            return False
        return self.suspected_q8 >= cutoff_q8


class EpochRow(NamedTuple):
    """A device's counters at the end of an epoch."""

    boot: int
    steps: int
    abstained: int
    denied: int
    alarms: int
    stored: datetime
    epoch: int
    evidence: float  # in half bits
    histogram_shift: int
    histogram: bytes
    expected_error: int | None = None  # in 1/16384


class Epoch(BaseModel):
    """What an epoch added to the counters; `closed` is false for the running epoch.

    A device counts its steps into epochs of a number that its profile sets.
    """

    epoch: int
    boot: int
    stored: datetime
    closed: bool
    rebooted: bool
    evidence_bits: float
    steps: int
    abstained: int
    denied: int
    alarms: int
    estimated_accuracy: float | None  # None: unknown, or of the running epoch
    risk_histogram: list[int]


_STATE: LiteralString = """
SELECT devices.device, boot, sequence, steps, abstained, denied, exceeded, alarms, devices.profile,
    devices.firmware, sites.name AS site, epoch,
    evidence / 2.0 AS running_bits, closed_epoch, closed_evidence / 2.0 AS closed_bits, judged_q8,
    1 - expected_error / 16384.0 AS estimated_accuracy,
    alarms_added AS new_alarms, cause AS cause_code, change AS change_eighths, label AS last_label,
    (SELECT health_names FROM profiles WHERE profiles.profile = devices.profile),
    histogram_shift, histogram, devices.last_seen,
    (SELECT suspects.evidence_q8 FROM suspects
     WHERE judgement = %(judgement)s AND suspects.device = devices.device) AS suspected_q8,
    registry.name, CASE WHEN state = 'retired' THEN 'retired' ELSE 'active' END AS state,
    CASE WHEN muted_until > now() THEN muted_until END AS muted_until, note, changed_by,
    (SELECT quarantined.boot FROM quarantined WHERE quarantined.device = devices.device)
        AS quarantined_boot,
    (SELECT owners.name FROM owners WHERE owners.owner = sites.owner) AS owner,
    coalesce(sites.owner, 0) AS owner_number
FROM devices JOIN sites ON sites.site = devices.site LEFT JOIN registry USING (device)
WHERE device = %(device)s AND (%(owners)s::integer[] IS NULL OR sites.owner = ANY(%(owners)s))
"""
_NAMED: LiteralString = """
SELECT device FROM registry JOIN devices USING (device) JOIN sites ON sites.site = devices.site
WHERE lower(registry.name) = lower(%(name)s)
    AND (%(owners)s::integer[] IS NULL OR sites.owner = ANY(%(owners)s))
LIMIT 1
"""
_EPOCHS: LiteralString = """
SELECT boot, steps, abstained, denied, alarms, stored, epoch, evidence, histogram_shift, histogram,
    expected_error
FROM epochs WHERE device = %(device)s ORDER BY boot DESC, epoch DESC LIMIT %(limit)s
"""


EMPTY = EpochRow(0, 0, 0, 0, 0, datetime.min, 0, 0, 0, bytes(2 * BINS))  # noqa: DTZ901 - unused


def state(session: Session, device: int, judgement: int | None) -> DeviceState | None:
    """Return the device's state, or None if no record of it is stored."""
    return session.row(DeviceState, "device", _STATE, {"device": device, "judgement": judgement})


def by_name(session: Session, name: str) -> str | None:
    """Return the id of the device that the registry gives this name, or None."""
    rows = session.of_all("by_name", _NAMED, {"name": name})
    return device_name(rows[0][0]) if rows else None


def history(session: Session, now: DeviceState) -> list[Epoch]:
    """Return the last epochs, the oldest first and the running one last."""
    values = {"device": device_number(now.device), "limit": EPOCHS + 1}
    rows = [EpochRow(*row) for row in session.tuples("epochs", _EPOCHS, values)[::-1]]
    running = EpochRow(
        now.boot, now.steps, now.abstained, now.denied, now.alarms, now.last_seen, now.epoch,
        HALF_BITS * now.running_bits, now.histogram_shift, now.histogram,
    )  # fmt: skip
    # The row before the first one shown holds its counters' start.
    first = rows.pop(0) if len(rows) > EPOCHS else None
    return [
        _increment(before, row, closed=row is not running)
        for before, row in pairwise([first, *rows, running])
        if row is not None
    ]


def _increment(before: EpochRow | None, row: EpochRow, *, closed: bool) -> Epoch:
    rebooted = before is not None and before.boot != row.boot
    old = EMPTY if before is None or rebooted else before
    counts = np.maximum(_counts(row) - _counts(old), 0)
    return Epoch(
        epoch=row.epoch,
        boot=row.boot,
        stored=row.stored,
        closed=closed,
        rebooted=rebooted,
        evidence_bits=row.evidence / HALF_BITS,
        steps=(row.steps - old.steps) % 2**32,
        abstained=(row.abstained - old.abstained) % 2**32,
        denied=(row.denied - old.denied) % 2**32,
        alarms=max(0, row.alarms - old.alarms),
        estimated_accuracy=None if row.expected_error is None else 1 - row.expected_error / LEVELS,
        risk_histogram=counts.tolist(),
    )


def _counts(row: EpochRow) -> NDArray[np.int64]:
    """Return the number of steps per risk bin; a bin counts every 2^shift-th step."""
    return np.frombuffer(row.histogram, "<u2").astype(np.int64) << min(row.histogram_shift, 32)
