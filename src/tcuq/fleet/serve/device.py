# SPDX-License-Identifier: Apache-2.0
"""One device: its state, and what each of its epochs added to the counters."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import LiteralString

import numpy as np
from numpy.typing import NDArray

from tcuq.fleet.serve.database import Session
from tcuq.fleet.serve.identity import Group

EPOCHS = 60
BINS = 16


@dataclass(frozen=True, slots=True)
class State:
    """The latest record of a device, and what the last judgement knew of it."""

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
    evidence_q8: int
    closed_epoch: int
    closed_evidence_q8: int
    histogram_shift: int
    histogram: bytes
    stored: datetime
    suspected_q8: int | None

    @property
    def group(self) -> Group:
        """Its cohort."""
        return Group.of(self.profile, self.firmware, self.site)

    def is_discovered(self, cutoff_q8: int | None) -> bool:
        """Whether the last judgement had so much evidence of it."""
        if self.suspected_q8 is None or cutoff_q8 is None:
            return False
        return self.suspected_q8 >= cutoff_q8


@dataclass(frozen=True, slots=True)
class _Row:
    boot: int
    steps: int
    abstained: int
    denied: int
    alarms: int
    stored: datetime
    epoch: int
    evidence_q8: int
    histogram_shift: int
    histogram: bytes


@dataclass(frozen=True, slots=True)
class Epoch:
    """What an epoch added; the last may be the present one, not yet whole."""

    epoch: int
    boot: int
    stored: datetime
    evidence_q8: int
    steps: int
    abstained: int
    denied: int
    alarms: int
    histogram: NDArray[np.int64]
    rebooted: bool
    whole: bool


_STATE: LiteralString = """
SELECT device, boot, sequence, steps, abstained, denied, exceeded, alarms, devices.profile,
    devices.firmware, sites.name AS site, threshold, epoch, devices.evidence_q8, closed_epoch,
    closed_evidence_q8, histogram_shift, histogram, devices.seen AS stored,
    (SELECT suspects.evidence_q8 FROM suspects
     WHERE judgement = %(judgement)s AND suspects.device = devices.device) AS suspected_q8
FROM devices JOIN sites ON sites.site = devices.site WHERE device = %(device)s
"""
_EPOCHS: LiteralString = """
SELECT boot, steps, abstained, denied, alarms, stored, epoch, evidence_q8, histogram_shift,
    histogram
FROM epochs WHERE device = %(device)s ORDER BY stored DESC LIMIT %(limit)s
"""


def state(session: Session, device: int, judgement: int | None) -> State | None:
    """The device's row, or None if no record of it was stored."""
    return session.row(State, "device", _STATE, {"device": device, "judgement": judgement})


def history(session: Session, now: State) -> list[Epoch]:
    """The last epochs, the oldest first, then the present one."""
    values = {"device": now.device, "limit": EPOCHS + 1}
    rows = session.rows(_Row, "epochs", _EPOCHS, values)[::-1]
    present = _Row(
        now.boot, now.steps, now.abstained, now.denied, now.alarms, now.stored, now.epoch,
        now.evidence_q8, now.histogram_shift, now.histogram,
    )  # fmt: skip
    # The row before the first shown says where its counters began.
    known = [None, *rows] if len(rows) <= EPOCHS else list(rows)
    return list(_added([*known, present]))


def _added(rows: list[_Row | None]) -> Iterator[Epoch]:
    for before, row in pairwise(rows):
        if row is None:
            continue
        same = before is not None and before.boot == row.boot
        old = before if same else None
        yield Epoch(
            row.epoch,
            row.boot,
            row.stored,
            row.evidence_q8,
            steps=(row.steps - (old.steps if old else 0)) % 2**32,
            abstained=(row.abstained - (old.abstained if old else 0)) % 2**32,
            denied=(row.denied - (old.denied if old else 0)) % 2**32,
            alarms=max(0, row.alarms - (old.alarms if old else 0)),
            histogram=np.maximum(_counts(row) - (_counts(old) if old else 0), 0),
            rebooted=before is not None and not same,
            whole=row is not rows[-1],
        )


def _counts(row: _Row) -> NDArray[np.int64]:
    """Steps by risk: a bin counts every 2^shift-th."""
    return np.frombuffer(row.histogram, "<u2").astype(np.int64) << min(row.histogram_shift, 32)
