# SPDX-License-Identifier: Apache-2.0
from typing import Any, TypeAlias, final

# Python 3.11 has no type for "has the buffer protocol".
Buffer: TypeAlias = Any

@final
class Simulator:
    def __new__(
        cls,
        device: Buffer,
        profile: Buffer,
        firmware: Buffer,
        cohort: Buffer,
        drifts_from: Buffer,
        seed: int,
        hours: int,
        on_hours: int,
        steps: int,
        block: int,
        epoch_steps: int,
        reboot_q32: int,
        sharing_q16: int,
        slots: int,
        resend_s: int,
        longest_s: int,
    ) -> Simulator: ...
    def advance(self, now_s: int, devices: Buffer, records: Buffer, /) -> int: ...
    def acknowledge(self, now_s: int, acks: Buffer, /) -> int: ...
    def truth(
        self,
        counters: Buffer,
        boot: Buffer,
        sequence: Buffer,
        refused: Buffer,
        waiting: Buffer,
        /,
    ) -> None: ...

def epoch_evidence(
    gains_q8: tuple[int, int, int, int],
    blocks: int,
    channels: int,
    passed: Buffer,
    evidence_q8: Buffer,
    /,
) -> None: ...
