# SPDX-License-Identifier: Apache-2.0
"""Input health from the model's own input, batch by batch while it is recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq._conversion import as_numbers
from tcuq.errors import InputError
from tcuq.health import Groups, Health, SampleReader, read_health
from tcuq.tap.graph import choose

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class InputHealth:
    """How ``record`` computes input health from the model's inputs.

    Parameters
    ----------
    groups, spread, names
        As in ``tcuq.health``. Inputs are (steps, samples, channels), or (steps, samples) of one
        channel.
    lsb
        The sensor's smallest step in the unit of the inputs. None: 1 for integers; for real
        numbers the scale that a quantised model has for its input, else it must be given.
    channels_first
        Whether inputs are (steps, channels, samples), as PyTorch's convolutions take them.
    input
        The input to look at, if the model has several.
    """

    groups: Groups | None = None
    lsb: float | None = None
    spread: bool | None = None
    names: Sequence[str] | None = None
    channels_first: bool = False
    input: str | None = None


class HealthRecorder:
    """Input health of batches: quantisation is the scale and zero point of the model's input."""

    def __init__(self, plan: InputHealth, quantisation: tuple[float, int]) -> None:
        self._plan = plan
        self._scale, self._zero_point = quantisation
        self._reader: SampleReader | None = None
        self._parts: list[Health] = []

    def add(self, inputs: Any) -> None:  # noqa: ANN401 - as the tap takes them
        """Compute the health of a batch."""
        plan = self._plan
        if isinstance(inputs, Mapping):
            inputs = inputs[choose(plan.input, list(inputs), "input")]
        windows = as_numbers(inputs, "inputs")
        if plan.channels_first and windows.ndim > 2:
            windows = np.moveaxis(windows, 1, -1)
        if windows.dtype.kind in "iu" and self._scale > 0:
            windows = windows.astype(np.int64) - self._zero_point
        if self._reader is None:
            self._reader = SampleReader(self._lsb(windows))
        self._parts.append(
            read_health(windows, plan.groups, self._reader, spread=plan.spread, names=plan.names)
        )

    def result(self) -> Health | None:
        """Return the health of all batches, or None if there was none."""
        if self._reader is None:
            return None
        self._reader.refuse_wrong_lsb()
        return Health(np.concatenate([part.values for part in self._parts]), self._parts[0].names)

    def _lsb(self, windows: Array) -> float:
        if self._plan.lsb is not None:
            return self._plan.lsb
        if windows.dtype.kind in "iu":
            return 1.0
        if not self._scale > 0:
            raise InputError(
                "lsb must be given, since inputs are real numbers and the model does not quantise"
                " them: the sensor's smallest step in their unit, such as lsb=1 / 4096"
            )
        return self._scale
