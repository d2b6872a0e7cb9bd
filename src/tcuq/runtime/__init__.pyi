# SPDX-License-Identifier: Apache-2.0
from typing import Any, TypeAlias, TypedDict, final

# Python 3.11 has no type for "has the buffer protocol".
Buffer: TypeAlias = Any

class Telemetry(TypedDict):  # exists for the type checker alone
    steps: int
    abstained: int
    denied: int
    exceeded: int
    alarms: int
    histogram_shift: int
    histogram: tuple[int, ...]

@final
class Engine:
    def __new__(cls, spec: dict[str, Any]) -> Engine: ...
    def step(
        self, posterior: Buffer, features: Buffer | None, /
    ) -> tuple[int, int, int, int, int, int]: ...
    def run(
        self,
        posteriors: Buffer,
        features: Buffer | None,
        label: Buffer,
        risk: Buffer,
        threshold_q16: Buffer,
        exceeded: Buffer,
        outcome: Buffer,
        alarm: Buffer,
        /,
    ) -> None: ...
    def signals(
        self, posterior: Buffer, features: Buffer | None, /
    ) -> tuple[int, int, int, int, int, int, int, int, int]: ...
    def reset(self) -> None: ...
    def reset_history(self) -> None: ...
    def epoch_evidence(self) -> int: ...
    def end_epoch(self) -> int: ...
    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: Buffer, /) -> None: ...
    def record(
        self, device: int, firmware: int, boot: int, sequence: int, epoch: int, flags: int, /
    ) -> bytes: ...
    def telemetry(self) -> Telemetry: ...
    @property
    def storage_bytes(self) -> int: ...
