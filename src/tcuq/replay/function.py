# SPDX-License-Identifier: Apache-2.0
"""The replay function: batches of chunks in, batches of results out, run by the device's C.

Every backend runs it: threads here, `mapInArrow` on Spark, `map_batches` elsewhere.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import HEALTH_ONE, OUT_OF_DISTRIBUTION
from tcuq.errors import InputError, StreamError
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.quantize import quantize
from tcuq.profile.settings import InputSettings
from tcuq.replay.layout import Chunks, Layout, Span
from tcuq.stages.inputs import Inputs, device_health

Array = NDArray[Any]

# Members of tcuq.profile.quantize that must be equal for profiles to share signals.
SHARED = (
    "classes", "width", "dimensions", "lags", "blend_q15",
    "selection", "projection", "projection_bias", "projection_shift", "health_count",
)  # fmt: skip
# In the engine's order (src/engine/replay.c); a histogram of 16 bins of risk follows.
COUNTS = (
    "steps", "exceeded", "abstained", "denied", "alarms",
    "risk_alarms", "novelty_alarms", "divergence_alarms", "instability_alarms", "health_alarms",
    "first_alarm",
    "labelled", "labelled_abstained", "wrong", "wrong_abstained",
)  # fmt: skip
BINS = 16
WIDTH = len(COUNTS) + BINS


def schema_of(*, decisions: bool) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return the schema of results; `first_alarm` is null without one.

    Evidence is of the running epoch and of the last closed one, null before one has closed.
    """
    import pyarrow as pa

    fields = [("stream", pa.string()), ("profile", pa.string())]
    fields += [(name, pa.int64()) for name in COUNTS]
    fields += [
        ("risk_histogram", pa.list_(pa.int64())),
        ("epoch", pa.int64()),
        ("evidence_bits", pa.float64()),
        ("closed_evidence_bits", pa.float64()),
        ("snapshot", pa.binary()),
    ]
    return pa.schema(fields + ([("decisions", pa.binary())] if decisions else []))


class Rows:
    """Collects finished rows into a batch."""

    def __init__(self, *, decisions: bool) -> None:
        self._schema = schema_of(decisions=decisions)
        self._columns: dict[str, list[Any]] = {name: [] for name in self._schema.names}

    def __len__(self) -> int:
        return len(self._columns["stream"])

    def add(self, stream: str, profile: str, counts: list[int], **more: object) -> None:
        """Append a stream's row under a profile."""
        row: dict[str, Any] = dict(zip(COUNTS, counts, strict=False))
        row["first_alarm"] = row["first_alarm"] - 1 if row["first_alarm"] else None
        row |= {"stream": stream, "profile": profile, "risk_histogram": counts[len(COUNTS) :]}
        for name, column in self._columns.items():
            column.append(row[name] if name in row else more[name])

    def batch(self) -> Any:  # noqa: ANN401
        """Return the collected rows as a batch and clear them."""
        import pyarrow as pa

        batch = pa.RecordBatch.from_pydict(self._columns, self._schema)
        self._columns = {name: [] for name in self._columns}
        return batch


@dataclass(frozen=True, slots=True)
class Replay:
    """Profiles over recorded streams: call it with the batches of whole streams.

    Parameters
    ----------
    profiles
        Profiles by name.
    layout
        Layout of the batches: ``layout_of`` the files' schema.
    decisions
        Whether a row of results also holds one byte per step: outcome in bits 0 and 1, exceeded
        in bit 2, in bits 4 to 6 the channel that alarmed (1 risk, 2 novelty, 3 divergence,
        4 instability, 5 health; 0 none), in bit 7 whether the stream differs since boot.
    """

    profiles: Mapping[str, Profile]
    layout: Layout
    decisions: bool = False

    def __post_init__(self) -> None:
        if not self.profiles:
            raise InputError("profiles must be at least 1, got 0")
        for name, profile in self.profiles.items():
            _check(name, profile, self.layout)

    def __reduce__(self) -> tuple[Any, ...]:
        documents = {name: profile.to_json() for name, profile in self.profiles.items()}
        return _unpickle, (documents, self.layout, self.decisions)

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield results of the streams in these batches, which must be whole and in order."""
        return Runner(self).run(batches)


class Runner:
    """The monitors of a Replay, reused for each sequence of batches."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self._groups = _groups(replay.profiles, replay.layout)

    def run(self, batches: Iterable[Any], *, name: str = "", first_row: int = 0) -> Iterator[Any]:
        """Yield results; `name` is for batches without stream names, errors count from a row."""
        for group in self._groups:
            group.clear()
        decisions = self.replay.decisions
        rows, chunks = Rows(decisions=decisions), Chunks(self.replay.layout, name, first_row)
        stream: str | None = None
        for batch in batches:
            for span in chunks.spans(batch):
                if span.starts_stream:
                    self._finish(stream, rows)
                    stream = span.stream
                for group in self._groups:
                    group.run(span, decisions=decisions)
            if len(rows):
                yield rows.batch()
        self._finish(stream, rows)
        if len(rows):
            yield rows.batch()

    def _finish(self, stream: str | None, rows: Rows) -> None:
        if stream is not None:
            results = {name: row for group in self._groups for name, row in group.results()}
            for name in self.replay.profiles:
                rows.add(stream, name, **results[name])


def _unpickle(documents: Mapping[str, str], layout: Layout, decisions: bool) -> Replay:
    """Return a Replay from its pickled parts."""
    profiles = {name: Profile.from_json(document) for name, document in documents.items()}
    return Replay(profiles, layout, decisions)


class StepConverter:
    """Convert steps of a layout to the inputs of a profile's engine."""

    def __init__(self, profile: Profile, layout: Layout) -> None:
        self._inputs = profile.inputs
        self._health = profile.signals.health
        self._layout = layout
        self._recode = _recoding(profile.inputs, layout)

    def __call__(self, span: Span) -> tuple[Array, Array | None, NDArray[np.int16] | None]:
        """Return the device's bytes, or numbers that the engine quantises, and input health."""
        posteriors = span.columns["posteriors"]
        features = span.columns["features"] if self._inputs.width else None
        if not self._layout.of_bytes:
            posteriors = _scaled(posteriors, self._layout.posterior_scale)
            if features is not None:
                features = _scaled(features, self._layout.feature_scale)
        elif features is not None and self._recode is not None:
            features = self._recode[features.view(np.uint8)]
        return posteriors, features, self._statistics(span)

    def _statistics(self, span: Span) -> NDArray[np.int16] | None:
        values = span.columns.get("health")
        if values is None:
            return None
        if values.dtype != np.int16 or self._layout.health_scale != 1 / HEALTH_ONE:
            values = _scaled(values, self._layout.health_scale)
        try:
            return device_health(values, self._health, span.steps)
        except InputError as error:
            raise StreamError(f"{_place(span)}: {error}") from None

    def refuse(self, span: Span, posteriors: Array, features: Array | None) -> NoReturn:
        """Raise an error that names the broken rule: the engine reports only that there is one."""
        try:
            Inputs(self._inputs).check(posteriors, features)
        except InputError as error:
            raise StreamError(f"{_place(span)}: {error}") from None
        raise StreamError(f"{_place(span)}: posteriors must sum to 1")


def _place(span: Span) -> str:
    return f"row {span.row} and on, stream {span.stream[:60]!r}"


class _Group:
    """Profiles that share the same signals, run over one stream after another."""

    def __init__(self, profiles: Mapping[str, Profile], layout: Layout) -> None:
        self._names = list(profiles)
        self._monitors = [Monitor(profile) for profile in profiles.values()]
        self._engines = [monitor.engine for monitor in self._monitors]
        first = next(iter(profiles.values()))
        self._convert, self._classes = StepConverter(first, layout), first.inputs.columns
        self.clear()

    def clear(self) -> None:
        """Set all counts to zero."""
        self._counts = np.zeros((len(self._engines), WIDTH), np.int64)
        self._decisions: list[NDArray[np.uint8]] = []

    def run(self, span: Span, *, decisions: bool) -> None:
        """Decide on these steps."""
        for monitor in self._monitors:
            if span.starts_stream:
                monitor.reset()
            elif span.starts_recording:
                monitor.reset_history()
        posteriors, features, health = self._convert(span)
        labels = span.columns.get("labels")
        if labels is not None:
            # The engine skips negative labels; no prediction equals the number of classes.
            outside = labels == OUT_OF_DISTRIBUTION
            labels = np.where(outside, self._classes, labels).astype(np.int32)
        output = np.zeros((len(self._engines), span.steps), np.uint8) if decisions else None
        first, *others = self._engines
        done = first.replay(
            tuple(others), posteriors, features, health, labels, self._counts, output
        )
        if done < span.steps:
            self._convert.refuse(span, posteriors, features)
        if output is not None:
            self._decisions.append(output)

    def results(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each profile's row for the stream that ends here."""
        decisions = np.concatenate(self._decisions, axis=1) if self._decisions else None
        for number, (name, monitor) in enumerate(zip(self._names, self._monitors, strict=True)):
            row = {
                "counts": self._counts[number].tolist(),
                "epoch": monitor.epoch,
                "evidence_bits": monitor.epoch_evidence_bits,
                "closed_evidence_bits": monitor.closed_evidence_bits,
                "snapshot": monitor.snapshot(),
                "decisions": None if decisions is None else decisions[number].tobytes(),
            }
            yield name, row
        self.clear()


def _groups(profiles: Mapping[str, Profile], layout: Layout) -> list[_Group]:
    """Group profiles by the signals they share."""
    groups: dict[tuple[object, ...], dict[str, Profile]] = {}
    for name, profile in profiles.items():
        spec, inputs = quantize(profile), profile.inputs
        key = (inputs.kind, inputs.feature_scale, *(spec[member] for member in SHARED))
        groups.setdefault(key, {})[name] = profile
    return [_Group(group, layout) for group in groups.values()]


def _recoding(inputs: InputSettings, layout: Layout) -> NDArray[np.int8] | None:
    """Return a table from the layout's feature bytes to the profile's; None if they are equal."""
    if not inputs.feature_scale or inputs.feature_scale == layout.feature_scale:
        return None
    values = np.arange(256).astype(np.uint8).view(np.int8) * layout.feature_scale
    steps: NDArray[np.float64] = np.rint(np.clip(values / inputs.feature_scale, -127, 127))
    return steps.astype(np.int8)


def _check(name: str, profile: Profile, layout: Layout) -> None:
    """Refuse a profile whose inputs differ from the layout's."""
    inputs = profile.inputs
    statistics = len(profile.signals.health_names) if layout.statistics else 0
    wanted = {
        "classes": inputs.columns,
        "width": inputs.width or layout.width,
        "statistics": statistics or layout.statistics,
    }
    for what, number in wanted.items():
        if getattr(layout, what) != number:
            raise InputError(f"{name}: {what} must be {number}, got {getattr(layout, what)}")
    either = (inputs.kind, layout.kind)
    if inputs.kind != layout.kind and ("outputs" in either or not layout.of_bytes):
        raise InputError(f"{name}: kind must be {inputs.kind}, got streams of {layout.kind}")


def _scaled(values: Array, scale: float) -> Array:
    if values.dtype in (np.float32, np.float64) and scale == 1.0:
        return values
    return values.astype(np.float64) * scale
