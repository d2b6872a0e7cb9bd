# SPDX-License-Identifier: Apache-2.0
"""Monitor: the C runtime on a host; its decisions equal the device's, bit for bit."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq._conversion import MAX_MAGNITUDE, as_numbers
from tcuq.decision import Decision, Trace, cause_in_words
from tcuq.errors import InputError, SnapshotError
from tcuq.profile import Profile
from tcuq.profile.quantize import quantize
from tcuq.profile.settings import AlarmFlag, InputSettings
from tcuq.runtime import Engine
from tcuq.stages.budget import Outcome
from tcuq.stages.inputs import Inputs, device_health, is_quantised
from tcuq.stages.threshold import REASONS
from tcuq.stream import SUM_TOLERANCE, Stream, checked_steps

CHANNEL = 7  # bits of a record's cause

Array = NDArray[Any]

# Looked up, because making an enum member costs more than the step.
OUTCOMES = tuple(Outcome)
ALARMS = tuple(AlarmFlag(bits) for bits in range(256))
# Bits of the fields that identify a telemetry record.
IDENTITY = {"device": 64, "firmware": 32, "boot": 32, "sequence": 32}


class Monitor:
    """Decides on each step of a stream, in the integer arithmetic of the device.

    Posteriors are rounded to uint8 in 1/256 and features to int8 in the profile's
    ``feature_scale``, as the firmware does, and input health to int16 in 1/1024. Arrays that are
    uint8, int8 and int16 already are used unchanged.

    Parameters
    ----------
    profile
        From ``tcuq.fit`` or ``Profile.load``, or the path of a saved profile.

    Examples
    --------
    >>> from tcuq.demo import demo_profile, demo_stream
    >>> stream = demo_stream("test")
    >>> monitor = Monitor(demo_profile())
    >>> monitor.step(stream.posteriors[0], stream.features[0]).outcome.name
    'ABSTAIN'
    >>> trace = Monitor(demo_profile()).run(stream)
    >>> len(trace) == len(stream)
    True
    """

    def __init__(self, profile: Profile | str | os.PathLike[str]) -> None:
        try:
            self.profile = profile if isinstance(profile, Profile) else Profile.load(profile)
        except TypeError:
            kind = type(profile).__name__
            raise InputError(f"profile must be a tcuq.Profile or a path, got {kind}") from None
        self._inputs = Inputs(self.profile.inputs)
        self._health = self.profile.signals.health
        self._engine = make_engine(
            quantize(self.profile),
            self.profile.inputs,
            self.profile.signals.health_names,
            promise=self.profile.promise is not None,
        )

    def __repr__(self) -> str:
        return f"<Monitor of {self.profile!r}, {self._engine.telemetry()['steps']:,} steps>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _continued, (self.profile, self.snapshot())

    def step(
        self,
        posterior: ArrayLike,
        features: ArrayLike | None = None,
        health: ArrayLike | None = None,
    ) -> Decision:
        """Decide on one step; a model with one output may give its number alone."""
        if health is not None:
            statistics = device_health(as_numbers(health, "health")[None], self._health, 1)
            health = None if statistics is None else statistics[0]
        decision: Decision | None = self._engine.step(posterior, features, health)
        return self._converted_step(posterior, features, health) if decision is None else decision

    def _converted_step(
        self, posterior: ArrayLike, features: ArrayLike | None, health: ArrayLike | None
    ) -> Decision:
        row = np.atleast_1d(as_numbers(posterior, "posterior"))
        if row.ndim != 1:
            raise InputError(f"posterior must have one dimension, got {row.ndim}")
        columns = None if features is None else as_numbers(features, "features")[None]
        rows, wide = self._engine_arrays(row[None], columns)
        first = None if wide is None else wide[0]
        decision: Decision | None = self._engine.step(rows[0], first, health)
        return self._refuse(rows, wide) if decision is None else decision

    def run(
        self,
        stream: Stream | ArrayLike,
        features: ArrayLike | None = None,
        health: ArrayLike | None = None,
        *,
        starts: ArrayLike = (),
        progress: Callable[[int], object] | None = None,
    ) -> Trace:
        """Decide on consecutive steps; the loop is in C and releases the GIL.

        Parameters
        ----------
        stream
            A ``Stream``, whose recordings stay apart, or an array of posteriors.
        features
            With an array of posteriors: the features of the same steps.
        health
            With an array of posteriors: the statistics of input health of the same steps. Without
            it, and with a profile that has no reference for it, that channel does not count.
        starts
            With an array of posteriors: steps at which a recording begins, before which history is
            forgotten.
        progress
            Called with the number of steps of each finished batch.

        Notes
        -----
        If a step is refused the monitor keeps the state it had before the call.
        """
        posteriors, features, health, starts = self._inputs.unpack(stream, features, health, starts)
        rows, columns = self._engine_arrays(posteriors, features)
        statistics = device_health(health, self._health, len(rows))
        trace = Trace.empty(len(rows), self.profile.signals.health_names)
        forget = set(checked_steps(starts, "starts", len(rows)).tolist())
        before = self.snapshot()
        for begin, end in pairwise([0, *sorted(forget - {0}), len(rows)]):
            if begin in forget:
                self.reset_history()
            at = slice(begin, end)
            parts = (None if array is None else array[at] for array in (columns, statistics))
            into = (getattr(trace, name)[at] for name in Trace.__slots__)
            if self._engine.run(rows[at], *parts, *into) < end - begin:
                self.restore(before)
                self._refuse(rows, columns)
            if progress is not None:
                progress(end - begin)
        return trace

    def quantize(
        self, posteriors: ArrayLike, features: ArrayLike | None = None
    ) -> tuple[NDArray[np.uint8], NDArray[np.int8] | None]:
        """Return the firmware's inputs: posteriors in uint8, features in int8."""
        rows, columns = self._engine_arrays(posteriors, features)
        quantised = self._engine.quantize(rows, columns)
        if quantised is None:
            self._refuse(rows, columns)
        posterior_bytes = np.frombuffer(quantised[0], np.uint8).reshape(rows.shape)
        if columns is None:
            return posterior_bytes, None
        return posterior_bytes, np.frombuffer(quantised[1], np.int8).reshape(columns.shape)

    def _engine_arrays(
        self, posteriors: ArrayLike, features: ArrayLike | None
    ) -> tuple[Array, Array | None]:
        """Check the inputs and return arrays of a type and layout that the engine reads."""
        if self._engine.takes(posteriors, features, None):
            return np.asarray(posteriors), None if features is None else np.asarray(features)
        rows, columns = self._inputs.check(posteriors, features)
        dtype = None if is_quantised(rows, columns) else np.float64
        wide = None if columns is None else np.ascontiguousarray(columns, dtype)
        return np.ascontiguousarray(rows, dtype), wide

    def _refuse(self, rows: Array, columns: Array | None) -> NoReturn:
        """Raise an error that names the broken rule: the engine reports only that there is one."""
        self._inputs.check(rows, columns)
        raise InputError(f"posteriors must sum to 1 within {SUM_TOLERANCE}, got more by rounding")

    @property
    def epoch(self) -> int:
        """The number of the running epoch; 0 before one has closed."""
        return self._engine.epoch()[0]

    @property
    def epoch_evidence_bits(self) -> float:
        """log2 of the running epoch's e-value against calibration; 0 without an alarm."""
        return self._engine.epoch()[1] / 256

    @property
    def closed_evidence_bits(self) -> float | None:
        """The same of the last closed epoch, in half bits; None before one has closed."""
        number, _, half_bits = self._engine.epoch()
        return half_bits / 2 if number else None

    @property
    def alarm_stands(self) -> bool:
        """Whether an alarm was raised and not acknowledged since, also before a restore."""
        return self._engine.record(0, 0, 0, 0)[1] & CHANNEL != 0  # of the last alarm

    @property
    def promise(self) -> str:
        """The bound on the accepted error in words, or why there is none; void from an alarm on."""
        if self.profile.promise is None:
            return "none: the profile was fitted without accepted_error"
        sentence = self.profile.promise.sentence
        return f"void since an alarm: {sentence}" if self.alarm_stands else sentence

    @property
    def reads_health(self) -> bool:
        """Whether the alarm watches input health."""
        return self._health is not None and self.profile.alarm is not None

    @property
    def engine(self) -> Engine:
        """The C runtime behind this monitor, with its state."""
        return self._engine

    def snapshot(self) -> bytes:
        """Return the monitor's state, byte for byte as the device writes it."""
        return self._engine.snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Continue from a snapshot; refuse one that is damaged, of another profile or version."""
        try:
            self._engine.restore(snapshot)
        except ValueError as error:
            raise SnapshotError(str(error)) from None

    def record(self, *, device: int, firmware: int, boot: int, sequence: int) -> bytes:
        """Return the telemetry record since the last reset, as `tcuq_record` fills it."""
        identity = (device, firmware, boot, sequence)
        for (name, bits), value in zip(IDENTITY.items(), identity, strict=True):
            if not 0 <= value < 1 << bits:
                raise InputError(f"{name} must lie in 0..2^{bits}-1, got {value}")
        return self._engine.record(*identity)

    def reset(self) -> None:
        """Return to the state of a new monitor."""
        self._engine.reset()

    def acknowledge(self) -> None:
        """After a repair: forget what the alarm learned, and that one was raised.

        The alarm compares with calibration again, and finds the same fault as fast when it returns.
        Past, threshold, budget, epoch and telemetry stay.
        """
        self._engine.acknowledge()

    def reset_history(self) -> None:
        """After a gap in the stream: forget the past, keep threshold, budget and evidence."""
        self._engine.reset_history()


def _continued(profile: Profile, snapshot: bytes) -> Monitor:
    """Return a monitor that continues from a copied or pickled one."""
    monitor = Monitor(profile)
    monitor.restore(snapshot)
    return monitor


def run_many(
    monitors: Sequence[Monitor], streams: Sequence[Stream], *, threads: int | None = None
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
    >>> streams = [demo_stream("test"), demo_stream("fault_clipping")]
    >>> traces = run_many([Monitor(demo_profile()) for _ in streams], streams)
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
        return list(pool.map(Monitor.run, monitors, streams))


def make_engine(
    spec: Mapping[str, Any],
    inputs: InputSettings,
    health_names: tuple[str, ...] = (),
    *,
    promise: bool = False,
) -> Engine:
    """Return the C runtime for a quantised profile, set to quantise its inputs."""
    quantizer: dict[str, Any] = {
        "logits": int(inputs.kind == "logits"),
        "promise": int(promise),
        "feature_scale": inputs.feature_scale or 1.0,
        "max_magnitude": MAX_MAGNITUDE,
        "sum_tolerance": SUM_TOLERANCE,
        "output_centres": None,
        "output_scales": None,
    }
    if inputs.outputs is not None:
        for name in ("centres", "scales"):
            numbers = np.array(getattr(inputs.outputs, name), np.float64)
            quantizer[f"output_{name}"] = numbers.tobytes()
    cause = partial(cause_in_words, health_names)
    return Engine({**spec, **quantizer}, Decision, OUTCOMES, REASONS, ALARMS, cause)
