# SPDX-License-Identifier: Apache-2.0
"""The storing rules in a few lines of Python: what any store of records must do."""

import struct
from dataclasses import dataclass, field

# Version, flags, device, profile, firmware, boot, sequence, threshold, epoch, evidence, counters.
HEAD = struct.Struct("<BBQIIIIHHhIIIIH")
ACK = struct.Struct("<QII")
WIDTHS = (32, 32, 32, 32, 16)  # of the counters, in bits

Counters = tuple[int, ...]


@dataclass(slots=True)
class Row:
    """A device: the newest state, and sums over all that was ever stored."""

    boot: int
    sequence: int
    newest: Counters
    sums: list[int] = field(default_factory=lambda: [0] * len(WIDTHS))


@dataclass(slots=True)
class ExactStore:
    """One row a device; a record that is not newer changes nothing and is acknowledged."""

    rows: dict[int, Row] = field(default_factory=dict)

    def put(self, record: bytes) -> bytes:
        """Store a record; the acknowledgement is the state held afterwards."""
        _, _, device, _, _, boot, sequence, _, _, _, *counters = HEAD.unpack_from(record)
        row = self.rows.get(device)
        if row is None:
            row = self.rows[device] = Row(boot, sequence, tuple(counters))
            row.sums = list(counters)
        elif (boot, sequence) > (row.boot, row.sequence):
            before = row.newest if boot == row.boot else (0,) * len(WIDTHS)
            for i, bits in enumerate(WIDTHS):
                row.sums[i] += (counters[i] - before[i]) % 2**bits
            row.boot, row.sequence, row.newest = boot, sequence, tuple(counters)
        return ACK.pack(device, row.boot, row.sequence)
