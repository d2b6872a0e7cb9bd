# SPDX-License-Identifier: Apache-2.0
"""Devices in the store as a test wants them: what they closed with, and when they were seen."""

from typing import Any

from tcuq.fleet.judge.verdict import Judgement, Rules, judge
from tcuq.fleet.store.tables import Store


class Field:
    """A fleet without records."""

    def __init__(self, store: Store) -> None:
        self.connection = store.connection
        self.rules = Rules(epoch_s=1e-6)  # a group's evidence is new in every judgement
        self._next = 1

    def add(self, many: int, bits: float = 0, **columns: int) -> range:
        """Devices of one cohort with this evidence in their last closed epoch."""
        devices = range(self._next, self._next + many)
        self._next += many
        values = {"profile": 1, "firmware": 1, "site": 1, "closed_epoch": 1} | columns
        self.connection.execute(
            "INSERT INTO devices (device, boot, sequence, steps, abstained, denied, exceeded,"
            " steps_added, abstained_added, denied_added, exceeded_added, seen, profile, firmware,"
            " site, alarms, alarms_added, threshold, epoch, closed_epoch, evidence_q8,"
            " closed_evidence_q8, histogram_shift, histogram)"
            " SELECT device, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, now(), %(profile)s, %(firmware)s,"
            " %(site)s, 0, 0, 0, 2, %(closed_epoch)s, 0, %(evidence)s, 0, ''"
            " FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS device",
            values | {"evidence": round(256 * bits), "first": devices[0], "last": devices[-1]},
        )
        return devices

    def close(self, devices: range, bits: float) -> None:
        """Their next epoch closes."""
        self.connection.execute(
            "UPDATE devices SET closed_epoch = closed_epoch + 1, closed_evidence_q8 = %s"
            " WHERE device = ANY(%s)",
            [round(256 * bits), list(devices)],
        )

    def hush(self, devices: range, hours: float = 4) -> None:
        """They were last seen that long ago; 0: just now."""
        self.connection.execute(
            "UPDATE devices SET seen = now() - %s * interval '1 hour' WHERE device = ANY(%s)",
            [hours, list(devices)],
        )

    def judge(self) -> Judgement:
        """The next judgement."""
        said = judge(self.connection, self.rules)
        assert said is not None
        return said

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query finds."""
        return self.connection.execute(query.encode()).fetchall()

    def alarms(self) -> list[tuple[Any, ...]]:
        """Kind, state, and whom they are about, in the order of opening."""
        return self.rows(
            "SELECT kind::text, state::text, device, profile, firmware, site FROM alarms"
            " ORDER BY kind, alarm"
        )
