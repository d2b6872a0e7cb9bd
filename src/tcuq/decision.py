# SPDX-License-Identifier: Apache-2.0
"""Decision: what a monitor says of one step, and the trace it leaves of many."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq.profile.settings import AlarmFlag
from tcuq.stages.budget import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Decision:
    """What the monitor says of one step."""

    label: int
    risk: float
    threshold: float
    exceeded: bool
    outcome: Outcome
    alarm: AlarmFlag


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What the monitor says of a stream: a Decision's names, one array each.

    ``risk`` is in 1/16384; a step asks to abstain where ``risk >= threshold``; ``exceeded`` is the
    ledger's own count, which keeps to alpha; ``alarm`` holds AlarmFlag bits.
    """

    label: NDArray[np.int32]
    risk: NDArray[np.float64]
    threshold: NDArray[np.float64]
    exceeded: NDArray[np.bool_]
    outcome: NDArray[np.uint8]
    alarm: NDArray[np.uint8]

    @classmethod
    def empty(cls, steps: int) -> "Trace":
        """Room for this many steps."""
        return cls(
            label=np.zeros(steps, np.int32),
            risk=np.zeros(steps),
            threshold=np.zeros(steps),
            exceeded=np.zeros(steps, np.bool_),
            outcome=np.zeros(steps, np.uint8),
            alarm=np.zeros(steps, np.uint8),
        )

    def __len__(self) -> int:
        return len(self.label)

    def plot(
        self,
        *,
        ax: "Axes | None" = None,
        starts: ArrayLike | None = None,
        shifted: ArrayLike | None = None,
    ) -> "Axes":
        """Plot risk, threshold, outcomes and alarms by step; extra `plot`."""
        from tcuq._plots import plot_trace

        return plot_trace(self, ax=ax, starts=starts, shifted=shifted)

    def __getitem__(self, step: int) -> Decision:
        return Decision(
            label=int(self.label[step]),
            risk=float(self.risk[step]),
            threshold=float(self.threshold[step]),
            exceeded=bool(self.exceeded[step]),
            outcome=Outcome(int(self.outcome[step])),
            alarm=AlarmFlag(int(self.alarm[step])),
        )


def joined_traces(traces: Sequence[Trace]) -> Trace:
    """Traces of consecutive steps, end to end."""
    return Trace(*(np.concatenate([getattr(t, name) for t in traces]) for name in Trace.__slots__))
