# SPDX-License-Identifier: Apache-2.0
"""DeviceMonitor: the C runtime behind the face of Monitor; what it says is what the device says."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq.budget import Outcome
from tcuq.decision import Decision, Trace
from tcuq.errors import InputError, SnapshotError
from tcuq.inputs import Inputs
from tcuq.profile import Profile
from tcuq.quantize import quantize
from tcuq.runtime import Engine
from tcuq.settings import AlarmFlag, InputSettings
from tcuq.stream import MAX_MAGNITUDE, SUM_TOLERANCE, Stream, as_numbers, checked_steps

Array = NDArray[Any]

# Looked up, because making an enum member costs more than the step.
OUTCOMES = tuple(Outcome)
ALARMS = tuple(AlarmFlag(bits) for bits in range(16))
# Bits of the fields that say who sends a record.
IDENTITY = {"device": 64, "firmware": 32, "boot": 32, "sequence": 32, "epoch": 16, "flags": 8}


class DeviceMonitor:
    """The integer runtime in C, with the methods of Monitor.

    Posteriors and features are quantised as the firmware must: posteriors to uint8 in 1/256,
    features to int8 in the profile's ``feature_scale``. Arrays that are uint8 and int8 already are
    taken to be quantised so, and pass as they are.

    Parameters
    ----------
    profile
        From ``tcuq.fit`` or ``Profile.load``.

    Examples
    --------
    >>> from tcuq.demo import demo_profile, demo_stream
    >>> stream = demo_stream("test")
    >>> monitor = DeviceMonitor(demo_profile())
    >>> monitor.step(stream.posteriors[0], stream.features[0]).outcome.name
    'ACCEPT'
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._inputs = Inputs(profile.inputs)
        spec = quantize(profile) | _way_in(profile.inputs)
        self._engine = Engine(spec, Decision, OUTCOMES, ALARMS)

    def step(self, posterior: ArrayLike, features: ArrayLike | None = None) -> Decision:
        """Decide on one step."""
        decision: Decision | None = self._engine.step(posterior, features)
        return self._converted_step(posterior, features) if decision is None else decision

    def _converted_step(self, posterior: ArrayLike, features: ArrayLike | None) -> Decision:
        row = as_numbers(posterior, "posterior")
        if row.ndim != 1:
            raise InputError(f"posterior must have one dimension, got {row.ndim}")
        columns = None if features is None else as_numbers(features, "features")[None]
        rows, wide = self._taken(row[None], columns)
        decision: Decision | None = self._engine.step(rows[0], None if wide is None else wide[0])
        return self._refuse(rows, wide) if decision is None else decision

    def run(
        self,
        posteriors: ArrayLike,
        features: ArrayLike | None = None,
        *,
        starts: ArrayLike = (),
        progress: Callable[[int], object] | None = None,
    ) -> Trace:
        """Decide on consecutive steps; the loop is in C and other threads run beside it.

        History is forgotten before each step in ``starts``; ``progress`` is told of every batch of
        steps that is done. Steps that are refused leave the monitor as it was.
        """
        rows, columns = self._taken(posteriors, features)
        trace = Trace.empty(len(rows))
        forget = np.unique(checked_steps(starts, "starts", len(rows))).tolist()
        before = self.snapshot()
        for begin, end in pairwise([0, *(s for s in forget if s > 0), len(rows)]):
            if begin in forget:
                self.reset_history()
            at = slice(begin, end)
            part = None if columns is None else columns[at]
            into = (getattr(trace, name)[at] for name in Trace.__slots__)
            if self._engine.run(rows[at], part, *into) < end - begin:
                self.restore(before)
                self._refuse(rows, columns)
            if progress is not None:
                progress(end - begin)
        return trace

    def quantize(
        self, posteriors: ArrayLike, features: ArrayLike | None = None
    ) -> tuple[NDArray[np.uint8], NDArray[np.int8] | None]:
        """The steps as the firmware is given them: posteriors in uint8, features in int8."""
        rows, columns = self._taken(posteriors, features)
        made = self._engine.quantize(rows, columns)
        if made is None:
            self._refuse(rows, columns)
        quantised = np.frombuffer(made[0], np.uint8).reshape(rows.shape)
        return quantised, None if columns is None else np.frombuffer(made[1], np.int8).reshape(
            columns.shape
        )

    def _taken(
        self, posteriors: ArrayLike, features: ArrayLike | None
    ) -> tuple[Array, Array | None]:
        """The same as arrays that the engine takes as they are; what can be told now is refused."""
        if not self._engine.takes(posteriors, features):
            convert = self._contiguous if _is_quantised(posteriors, features) else self._doubles
            return convert(posteriors, features)
        return np.asarray(posteriors), None if features is None else np.asarray(features)

    def _doubles(
        self, posteriors: ArrayLike, features: ArrayLike | None
    ) -> tuple[Array, Array | None]:
        rows, columns = self._inputs.check(posteriors, features)
        wide = None if columns is None else np.ascontiguousarray(columns, np.float64)
        return np.ascontiguousarray(rows, np.float64), wide

    def _contiguous(
        self, posteriors: ArrayLike, features: ArrayLike | None
    ) -> tuple[Array, Array | None]:
        rows = np.ascontiguousarray(posteriors)
        columns = None if features is None else np.ascontiguousarray(features)
        classes, width = self.profile.inputs.classes, self.profile.inputs.width
        if rows.ndim != 2 or rows.shape[1] != classes:
            raise InputError(f"posteriors must have the shape (steps, {classes}), got {rows.shape}")
        shape = None if columns is None else columns.shape
        if shape != ((len(rows), width) if width else None):
            wanted = f"the shape ({len(rows)}, {width})" if width else "no features"
            raise InputError(f"features must have {wanted}, got {shape}")
        return rows, columns

    def _refuse(self, rows: Array, columns: Array | None) -> NoReturn:
        """Say which rule was broken where: the engine only says that one was."""
        self._inputs.check(rows, columns)
        raise InputError(f"posteriors must sum to 1 within {SUM_TOLERANCE}, got more by rounding")

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

    @property
    def engine(self) -> Engine:
        """The C runtime behind this monitor; it has its state."""
        return self._engine

    def snapshot(self) -> bytes:
        """The monitor's state, byte for byte as the device writes it."""
        return self._engine.snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Continue from a snapshot; a foreign or damaged one is refused."""
        try:
            self._engine.restore(snapshot)
        except ValueError as error:
            raise SnapshotError(str(error)) from None

    def record(
        self,
        *,
        device: int,
        firmware: int,
        boot: int,
        sequence: int,
        epoch: int = 0,
        flags: int = 0,
    ) -> bytes:
        """The telemetry record of everything since the last reset, as `tcuq_record` fills it."""
        identity = (device, firmware, boot, sequence, epoch, flags)
        for (name, bits), value in zip(IDENTITY.items(), identity, strict=True):
            if not 0 <= value < 1 << bits:
                raise InputError(f"{name} must lie in 0..2^{bits}-1, got {value}")
        return self._engine.record(*identity)

    def reset(self) -> None:
        """Back to the state of a new monitor."""
        self._engine.reset()

    def reset_history(self) -> None:
        """After a gap in the stream: forget the past, keep threshold, budget and evidence."""
        self._engine.reset_history()


def run_many(
    monitors: Sequence[DeviceMonitor], streams: Sequence[Stream], *, threads: int | None = None
) -> list[Trace]:
    """Decide on many streams at once, each by a monitor of its own.

    Parameters
    ----------
    monitors
        As many as streams, each once: monitors of one profile share nothing.
    streams
        Recorded streams of the profiles' kinds.
    threads
        How many run at once; a few more than there are cores if None.

    Examples
    --------
    >>> from tcuq.demo import demo_profile, demo_stream
    >>> streams = [demo_stream("test"), demo_stream("fault_gain")]
    >>> traces = run_many([DeviceMonitor(demo_profile()) for _ in streams], streams)
    >>> [len(trace) for trace in traces] == [len(stream) for stream in streams]
    True
    """
    from concurrent.futures import ThreadPoolExecutor

    if len({id(monitor) for monitor in monitors}) != len(streams):
        raise InputError(
            f"monitors must be {len(streams)} different ones, as many as streams,"
            f" got {len({id(monitor) for monitor in monitors})}"
        )
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(DeviceMonitor.run_stream, monitors, streams))


def _way_in(inputs: InputSettings) -> dict[str, float]:
    """What the engine needs to know to quantise."""
    return {
        "logits": int(inputs.kind == "logits"),
        "feature_scale": inputs.feature_scale or 1.0,
        "max_magnitude": MAX_MAGNITUDE,
        "sum_tolerance": SUM_TOLERANCE,
    }


def _is_quantised(posteriors: ArrayLike, features: ArrayLike | None) -> bool:
    """Whether both are arrays of the device's own types."""
    return (
        isinstance(posteriors, np.ndarray)
        and posteriors.dtype == np.uint8
        and (features is None or (isinstance(features, np.ndarray) and features.dtype == np.int8))
    )
