# SPDX-License-Identifier: Apache-2.0
"""The output of the signals stage: one array per signal, one entry per step."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SignalColumns:
    """The signals of consecutive steps; None where the inputs cannot give them."""

    label: NDArray[np.int32]
    confidence: Floats
    divergence: Floats
    instability: Floats | None
    inconsistency: Floats
    doubt: Floats
    low_confidence: Floats
    novelty: Floats | None
    whole_past: NDArray[np.bool_]  # whether every lag had a past
    health: Floats | None = None

    def named(self, signal: str) -> Floats:
        """Return the column of a signal that the profile uses."""
        column: Floats = getattr(self, signal)
        return column


def concatenate(columns: Sequence[SignalColumns]) -> SignalColumns:
    """Concatenate the signals of consecutive steps."""

    def column(name: str) -> Any:  # noqa: ANN401 - each column has a type of its own
        parts = [getattr(c, name) for c in columns]
        return None if parts[0] is None else np.concatenate(parts)

    return SignalColumns(*(column(f.name) for f in fields(SignalColumns)))
