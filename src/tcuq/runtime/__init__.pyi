# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any, TypeAlias, TypedDict, final

# Python 3.11 has no type for "has the buffer protocol".
Buffer: TypeAlias = Any
# Of the class that the engine was given.
Decision: TypeAlias = Any

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
    def __new__(
        cls,
        spec: dict[str, Any],
        decision: type,
        outcomes: tuple[object, ...],
        reasons: tuple[str, ...],
        alarms: tuple[object, ...],
        cause: Callable[[int, int], str],
    ) -> Engine: ...
    def step(self, posterior: object, features: object, health: object, /) -> Decision | None: ...
    def takes(self, posteriors: object, features: object, health: object, /) -> bool: ...
    def run(
        self,
        posteriors: Buffer,
        features: Buffer | None,
        health: Buffer | None,
        label: Buffer,
        steady_label: Buffer,
        risk: Buffer,
        expected_error: Buffer,
        novelty: Buffer,
        threshold: Buffer,
        exceeded: Buffer,
        reason: Buffer,
        outcome: Buffer,
        withheld: Buffer,
        alarm: Buffer,
        amber: Buffer,
        cause: Buffer,
        change: Buffer,
        promised: Buffer,
        /,
    ) -> int: ...
    def quantize(
        self, posteriors: Buffer, features: Buffer | None, /
    ) -> tuple[bytes, bytes] | None: ...
    def observe(
        self, posteriors: Buffer, features: Buffer | None, health: Buffer | None, /
    ) -> bytearray | None: ...
    def score(self, observed: Buffer, /) -> bytearray: ...
    def replay(
        self,
        others: tuple[Engine, ...],
        posteriors: Buffer,
        features: Buffer | None,
        health: Buffer | None,
        labels: Buffer | None,
        counts: Buffer,
        decisions: Buffer | None,
        /,
    ) -> int: ...
    def signals(
        self, posterior: object, features: object, health: object, /
    ) -> tuple[int, ...] | None: ...
    def reset(self) -> None: ...
    def acknowledge(self) -> None: ...
    def reset_history(self) -> None: ...
    def epoch(self) -> tuple[int, int, int]: ...
    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: Buffer, /) -> None: ...
    def record(self, device: int, firmware: int, boot: int, sequence: int, /) -> bytes: ...
    def telemetry(self) -> Telemetry: ...
    @property
    def storage_bytes(self) -> int: ...

risk_odds_q10: bytes  # an int16 per risk level

def checksums(records: Buffer, stride: int, size: int, into: Buffer, /) -> None: ...
def health(windows: Buffer, frames: int, groups: Buffer, into: Buffer, /) -> None: ...
