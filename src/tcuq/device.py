# SPDX-License-Identifier: Apache-2.0
"""DeviceMonitor: the C runtime behind the face of Monitor; what it says is what the device says."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq.alarm import AlarmFlag
from tcuq.budget import Outcome
from tcuq.decision import Decision, Trace
from tcuq.errors import InputError, SnapshotError
from tcuq.inputs import Inputs
from tcuq.profile import Profile
from tcuq.quantize import quantize
from tcuq.runtime import Engine
from tcuq.settings import ALPHA_BITS, RISK_LEVELS
from tcuq.stream import Stream, as_numbers, checked_steps

Bytes = NDArray[np.uint8]
LEVELS_Q16 = RISK_LEVELS << ALPHA_BITS


# Looked up, because making an enum member costs more than the step.
OUTCOMES = tuple(Outcome)
ALARMS = tuple(AlarmFlag(bits) for bits in range(16))


class DeviceMonitor:
    """The integer runtime in C, with the methods of Monitor.

    Parameters
    ----------
    profile
        From ``tcuq.fit`` or ``Profile.load``.

    Posteriors and features are quantised as the firmware must: posteriors to uint8 in 1/256,
    features to int8 in the profile's ``feature_scale``. Arrays that are uint8 and int8 already are
    taken to be quantised so, and pass as they are.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._inputs = Inputs(profile.inputs)
        self._engine = Engine(quantize(profile))

    def step(self, posterior: ArrayLike, features: ArrayLike | None = None) -> Decision:
        """Decide on one step."""
        if not _is_quantised(posterior, features):
            row = as_numbers(posterior, "posterior")
            columns = None if features is None else as_numbers(features, "features")[None]
            if row.ndim != 1:
                raise InputError(f"posterior must have one dimension, got {row.ndim}")
            rows, wide = self._quantised(row[None], columns)
            posterior, features = rows[0], None if wide is None else wide[0]
        try:
            said = self._engine.step(posterior, features)
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from None
        label, risk, threshold, exceeded, outcome, alarm = said
        return Decision(
            label,
            risk / RISK_LEVELS,
            threshold / LEVELS_Q16,
            exceeded == 1,
            OUTCOMES[outcome],
            ALARMS[alarm],
        )

    def run(
        self,
        posteriors: ArrayLike,
        features: ArrayLike | None = None,
        *,
        starts: ArrayLike = (),
        progress: Callable[[int], object] | None = None,
    ) -> Trace:
        """Decide on consecutive steps; the loop is in C and other threads run beside it."""
        rows, columns = self._quantised(posteriors, features)
        steps = len(rows)
        label = np.zeros(steps, np.int32)
        risk, threshold = np.zeros(steps, np.uint16), np.zeros(steps, np.int32)
        flags = [np.zeros(steps, np.uint8) for _ in range(3)]
        forget = np.unique(checked_steps(starts, "starts", steps)).tolist()
        for begin, end in pairwise([0, *(s for s in forget if s > 0), steps]):
            if begin in forget:
                self.reset_history()
            at = slice(begin, end)
            part = None if columns is None else columns[at]
            self._engine.run(
                rows[at], part, label[at], risk[at], threshold[at], *(f[at] for f in flags)
            )
            if progress is not None:
                progress(end - begin)
        exceeded, outcome, alarm = flags
        return Trace(
            label,
            risk / RISK_LEVELS,
            threshold / LEVELS_Q16,
            exceeded.astype(np.bool_),
            outcome,
            alarm,
        )

    def _quantised(
        self, posteriors: ArrayLike, features: ArrayLike | None
    ) -> tuple[Bytes, NDArray[np.int8] | None]:
        if _is_quantised(posteriors, features):
            given = np.ascontiguousarray(posteriors)
            inside = None if features is None else np.ascontiguousarray(features)
            self._check_quantised(given, inside)
            return given, inside
        rows, columns = self._inputs.check(posteriors, features)
        probabilities = self._inputs.probabilities(rows)
        quantised = np.minimum(np.rint(probabilities * 256), 255).astype(np.uint8)
        if columns is None:
            return quantised, None
        scale = self.profile.inputs.feature_scale
        steps = np.rint(columns.astype(np.float64) / scale)  # type: ignore[operator]
        return quantised, np.clip(steps, -127, 127).astype(np.int8)

    def _check_quantised(
        self, rows: NDArray[np.generic], columns: NDArray[np.generic] | None
    ) -> None:
        classes, width = self.profile.inputs.classes, self.profile.inputs.width
        if rows.ndim != 2 or rows.shape[1] != classes:
            raise InputError(f"posteriors must have the shape (steps, {classes}), got {rows.shape}")
        shape = None if columns is None else columns.shape
        if shape != ((len(rows), width) if width else None):
            wanted = f"the shape ({len(rows)}, {width})" if width else "no features"
            raise InputError(f"features must have {wanted}, got {shape}")

    def run_stream(
        self, stream: Stream, *, progress: Callable[[int], object] | None = None
    ) -> Trace:
        """Decide on a recorded stream, which must be of the profile's kind."""
        self._inputs.check_kind(stream)
        return self.run(stream.posteriors, stream.features, starts=stream.starts, progress=progress)

    @property
    def epoch_evidence_bits(self) -> float:
        """log2 of the e-value against calibration since the epoch began; 0 without an alarm."""
        return self._engine.epoch_evidence() / 256

    def end_epoch(self) -> float:
        """The epoch's evidence in bits; the next epoch starts without any."""
        return self._engine.end_epoch() / 256

    def snapshot(self) -> bytes:
        """The monitor's state, byte for byte as the device writes it."""
        return self._engine.snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Continue from a snapshot; a foreign or damaged one is refused."""
        try:
            self._engine.restore(snapshot)
        except ValueError as error:
            raise SnapshotError(str(error)) from None

    def reset(self) -> None:
        """Back to the state of a new monitor."""
        self._engine.reset()

    def reset_history(self) -> None:
        """After a gap in the stream: forget the past, keep threshold, budget and evidence."""
        self._engine.reset_history()


def _is_quantised(posteriors: ArrayLike, features: ArrayLike | None) -> bool:
    """Whether both are arrays of the device's own types."""
    return (
        isinstance(posteriors, np.ndarray)
        and posteriors.dtype == np.uint8
        and (features is None or (isinstance(features, np.ndarray) and features.dtype == np.int8))
    )
