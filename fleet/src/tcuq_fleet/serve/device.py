# SPDX-License-Identifier: Apache-2.0
"""One device: its latest state, and what each of its epochs added to the counters."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal, LiteralString

import numpy as np
from numpy.typing import NDArray

from tcuq.telemetry import cause_text
from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import Group

EPOCHS = 60
BINS = 16


@dataclass(frozen=True, slots=True)
class DeviceState:
    """A device's latest record, and its evidence in the last judgement."""

    device: int
    boot: int
    sequence: int
    steps: int
    abstained: int
    denied: int
    exceeded: int
    alarms: int
    profile: int
    firmware: int
    site: str
    threshold: int
    epoch: int
    evidence: int  # of the running epoch, in half bits
    closed_epoch: int | None
    closed_evidence: int | None
    judged_q8: int | None  # None: no evidence of its firmware alone yet
    cause: int
    health_names: list[str] | None  # of its profile, if registered
    histogram_shift: int
    histogram: bytes
    last_seen: datetime
    suspected_q8: int | None
    name: str | None  # in the registry
    state: Literal["active", "retired"]
    muted_until: datetime | None  # in the future
    note: str | None
    changed_by: str | None  # of its entry in the registry
    quarantined_boot: int | None  # of a record that is held back
    owner: str | None

    @property
    def cause_text(self) -> str:
        """The cause of its last alarm in words, or ""."""
        return cause_text(self.cause, self.health_names or ())

    @property
    def group(self) -> Group:
        """The device's cohort."""
        return Group.of(self.profile, self.firmware, self.site)

    def is_discovered(self, cutoff_q8: int | None) -> bool:
        """Return whether the device is a suspect with at least this evidence."""
        if self.suspected_q8 is None or cutoff_q8 is None:
            return False
        return self.suspected_q8 >= cutoff_q8


@dataclass(frozen=True, slots=True)
class _DeviceNumber:
    device: int


@dataclass(frozen=True, slots=True)
class _EpochRow:
    boot: int
    steps: int
    abstained: int
    denied: int
    alarms: int
    stored: datetime
    epoch: int
    evidence: int
    histogram_shift: int
    histogram: bytes


@dataclass(frozen=True, slots=True)
class Epoch:
    """What an epoch added to the counters; `closed` is false for the running epoch."""

    epoch: int
    boot: int
    stored: datetime
    evidence: int  # in half bits
    steps: int
    abstained: int
    denied: int
    alarms: int
    histogram: NDArray[np.int64]
    rebooted: bool
    closed: bool


_STATE: LiteralString = """
SELECT devices.device, boot, sequence, steps, abstained, denied, exceeded, alarms, devices.profile,
    devices.firmware, sites.name AS site, threshold, epoch, evidence, closed_epoch,
    closed_evidence, judged_q8, cause,
    (SELECT health_names FROM profiles WHERE profiles.profile = devices.profile),
    histogram_shift, histogram, devices.last_seen,
    (SELECT suspects.evidence_q8 FROM suspects
     WHERE judgement = %(judgement)s AND suspects.device = devices.device) AS suspected_q8,
    registry.name, CASE WHEN state = 'retired' THEN 'retired' ELSE 'active' END AS state,
    CASE WHEN muted_until > now() THEN muted_until END AS muted_until, note, changed_by,
    (SELECT quarantined.boot FROM quarantined WHERE quarantined.device = devices.device)
        AS quarantined_boot,
    (SELECT owners.name FROM owners WHERE owners.owner = sites.owner) AS owner
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
SELECT boot, steps, abstained, denied, alarms, stored, epoch, evidence, histogram_shift, histogram
FROM epochs WHERE device = %(device)s ORDER BY boot DESC, epoch DESC LIMIT %(limit)s
"""


def state(session: Session, device: int, judgement: int | None) -> DeviceState | None:
    """Return the device's state, or None if no record of it is stored."""
    return session.row(DeviceState, "device", _STATE, {"device": device, "judgement": judgement})


def by_name(session: Session, name: str) -> int | None:
    """Return the device that the registry gives this name, or None."""
    row = session.row(_DeviceNumber, "by_name", _NAMED, {"name": name})
    return None if row is None else row.device


def history(session: Session, now: DeviceState) -> list[Epoch]:
    """Return the last epochs, the oldest first and the running one last."""
    values = {"device": now.device, "limit": EPOCHS + 1}
    rows = session.rows(_EpochRow, "epochs", _EPOCHS, values)[::-1]
    running = _EpochRow(
        now.boot, now.steps, now.abstained, now.denied, now.alarms, now.last_seen, now.epoch,
        now.evidence, now.histogram_shift, now.histogram,
    )  # fmt: skip
    # The row before the first one shown holds its counters' start.
    known = [None, *rows] if len(rows) <= EPOCHS else list(rows)
    return list(_increments([*known, running]))


def _increments(rows: list[_EpochRow | None]) -> Iterator[Epoch]:
    for before, row in pairwise(rows):
        if row is None:
            continue
        same = before is not None and before.boot == row.boot
        old = before if same else None
        yield Epoch(
            row.epoch,
            row.boot,
            row.stored,
            row.evidence,
            steps=(row.steps - (old.steps if old else 0)) % 2**32,
            abstained=(row.abstained - (old.abstained if old else 0)) % 2**32,
            denied=(row.denied - (old.denied if old else 0)) % 2**32,
            alarms=max(0, row.alarms - (old.alarms if old else 0)),
            histogram=np.maximum(_counts(row) - (_counts(old) if old else 0), 0),
            rebooted=before is not None and not same,
            closed=row is not rows[-1],
        )


def _counts(row: _EpochRow) -> NDArray[np.int64]:
    """Return the number of steps per risk bin; a bin counts every 2^shift-th step."""
    return np.frombuffer(row.histogram, "<u2").astype(np.int64) << min(row.histogram_shift, 32)
