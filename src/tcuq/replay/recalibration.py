# SPDX-License-Identifier: Apache-2.0
"""Recalibrate from the field: a profile's reference refreshed from streams that no alarm touched.

Tables, centres, edges, threshold are new; novelty's means, weights, blocks and the bets' gains
stay. Every change is said, and one that hides drift is refused until a person accepts it.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from tcuq.calibrate.bets import SHARES_ABOVE
from tcuq.calibrate.tails import MAX_SLOPE, POINTS, RAREST
from tcuq.errors import FitError, StreamError
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.settings import ALPHA_BITS, RISK_LEVELS, AnchoredScoreSettings, Channel, Term
from tcuq.replay.comparison import Comparison
from tcuq.replay.function import Replay, Runner, Steps
from tcuq.replay.layout import Chunks
from tcuq.replay.reference import Reference
from tcuq.replay.units import Source, Unit, arrow, sources_of

T = TypeVar("T")

MARK = "recalibration.streams"
MOST_BEYOND = 2.0  # times as many blocks beyond an old edge as calibration had: drift, not noise
BATCH_ROWS = 64


@dataclass(frozen=True, slots=True)
class Recalibrated:
    """The new profile, the old beside it on the whole archive, and what speaks against it."""

    profile: Profile
    comparison: Comparison
    beyond: Mapping[str, float]  # by channel: share of blocks beyond the old 2 % edge
    objections: tuple[str, ...]


def recalibrate(
    profile: Profile, paths: Sequence[str | os.PathLike[str]], *, threads: int | None = None
) -> Recalibrated:
    """A profile whose reference is the field's, from the streams on which it never alarmed.

    Parameters
    ----------
    profile
        As it was fitted: a recalibrated one is refused, so that small steps cannot add up.
    paths
        Files of chunks, or folders of them.
    threads
        How many row groups at once; as many as there are cores if None.
    """
    if MARK in profile.provenance.figures:
        raise FitError(
            "the profile was recalibrated already: give the one that was fitted,"
            " else small changes add up unseen"
        )
    if profile.alarm is None:
        raise FitError("a profile without an alarm cannot tell which streams drifted; fit one")
    sources = sources_of(paths)
    crew = _Crew(sources, threads or os.cpu_count() or 1)
    alarmed = crew.alarmed(profile)
    reference = crew.reference(profile, alarmed)
    if reference.streams == 0:
        raise FitError("no stream of the archive is free of alarms: nothing to calibrate on")
    _check_blocks(profile, reference)
    refreshed = _refreshed(profile, reference)
    refreshed = _with_threshold(refreshed, crew.levels(refreshed, alarmed))
    refreshed = _marked(refreshed, profile, reference, len(alarmed))
    comparison = crew.comparison({"present": profile, "recalibrated": refreshed})
    beyond: dict[str, float] = {
        channel.signal: _share_beyond(sketch, channel)
        for channel, sketch in zip(reference.channels, reference.blocks, strict=True)
    }
    said = tuple(_objections(comparison, beyond))
    return Recalibrated(refreshed, comparison, beyond, said)


class _Crew:
    """Threads over the units of an archive."""

    def __init__(self, sources: Sequence[Source], threads: int) -> None:
        self._sources = sources
        self._threads = threads

    def _each(self, work: Callable[[Unit, Source, Any], T]) -> Iterator[T]:
        pa, parquet = arrow()

        def run(unit: Unit) -> T:
            groups = list(unit.groups)
            try:
                with parquet.ParquetFile(unit.path, page_checksum_verification=True) as file:
                    batches = file.iter_batches(BATCH_ROWS, row_groups=groups, use_threads=False)
                    return work(unit, self._sources[unit.number], batches)
            except (StreamError, pa.ArrowException, OSError) as error:
                last = unit.first_row + unit.rows - 1
                raise StreamError(f"{unit.path} rows {unit.first_row}..{last}: {error}") from None

        with ThreadPoolExecutor(self._threads) as pool:
            yield from pool.map(run, [unit for source in self._sources for unit in source.units])

    def comparison(self, profiles: Mapping[str, Profile]) -> Comparison:
        """Profiles over everything."""
        pa, _ = arrow()
        found = Comparison(profiles)

        def run(unit: Unit, source: Source, batches: Iterable[Any]) -> Any:  # noqa: ANN401
            runner = Runner(Replay(profiles, source.layout))
            return list(runner.run(batches, name=unit.path.stem))

        for batches in self._each(run):
            found.take(pa.Table.from_batches(batches))
        return found

    def alarmed(self, profile: Profile) -> frozenset[str]:
        """Streams on which the profile alarmed, even once."""

        def run(unit: Unit, source: Source, batches: Iterable[Any]) -> list[str]:
            runner = Runner(Replay({"": profile}, source.layout))
            made = runner.run(batches, name=unit.path.stem)
            rows = [row for batch in made for row in batch.select(["stream", "alarms"]).to_pylist()]
            return [row["stream"] for row in rows if row["alarms"]]

        return frozenset(stream for streams in self._each(run) for stream in streams)

    def reference(self, profile: Profile, unwanted: frozenset[str]) -> Reference:
        """The signals of all other streams."""

        def run(unit: Unit, source: Source, batches: Iterable[Any]) -> Reference:
            made, chunks = Reference(profile, source.layout), Chunks(source.layout, unit.path.stem)
            for batch in batches:
                made.take(chunks.spans(batch), unwanted)
            return made

        whole = Reference(profile, self._sources[0].layout)
        for part in self._each(run):
            whole.merge(part)
        return whole

    def levels(self, profile: Profile, unwanted: frozenset[str]) -> Any:  # noqa: ANN401
        """How many steps of the other streams have each level of risk."""

        def run(unit: Unit, source: Source, batches: Iterable[Any]) -> Any:  # noqa: ANN401
            counts = np.zeros(RISK_LEVELS + 1, np.int64)
            monitor, taken = Monitor(profile), Steps(profile.inputs, source.layout)
            chunks = Chunks(source.layout, unit.path.stem)
            for span in (span for batch in batches for span in chunks.spans(batch)):
                if span.stream in unwanted:
                    continue
                if span.starts_recording:
                    monitor.reset_history()
                risk = np.rint(monitor.run(*taken(span)).risk * RISK_LEVELS).astype(np.int64)
                counts += np.bincount(risk, minlength=RISK_LEVELS + 1)
            return counts

        return sum(self._each(run), np.zeros(RISK_LEVELS + 1, np.int64))


def _check_blocks(profile: Profile, reference: Reference) -> None:
    """The gains stay valid only where the field has at least as many blocks as calibration."""
    for channel, sketch in zip(reference.channels, reference.blocks, strict=True):
        needed = profile.provenance.figures.get(f"{channel.signal}.independent_blocks", 0)
        if sketch.n < needed:
            raise FitError(
                f"channel {channel.signal}: the field's streams without an alarm must have"
                f" {needed:.0f} blocks of {channel.block} steps, as calibration, got {sketch.n}"
            )


def _refreshed(profile: Profile, reference: Reference) -> Profile:
    """Terms and channels by what the field looks like."""
    assert profile.alarm is not None  # noqa: S101 - checked; for the type checker
    means = reference.means()
    channels = tuple(
        _channel(channel, sketch, means[channel.signal])
        for channel, sketch in zip(profile.alarm.channels, reference.blocks, strict=True)
    )
    alarm = replace(profile.alarm, channels=channels)
    score = profile.score
    if isinstance(score, AnchoredScoreSettings):
        terms = list(score.terms)
        for number, sketch in reference.surprises.items():
            terms[number] = _term(terms[number], sketch, means[terms[number].signal])
        score = replace(score, terms=tuple(terms))
    return replace(profile, score=score, alarm=alarm)


def _term(term: Term, sketch: Any, mean: float) -> Term:  # noqa: ANN401
    """As calibrate.tails tabulates, from a sketch."""
    shares = 2.0 ** -np.linspace(0, -np.log2(RAREST), POINTS)
    points = np.unique(sketch.get_quantiles(1 - shares))
    survivors = np.array([1 - sketch.get_rank(float(p), False) for p in points])
    bits = np.maximum.accumulate(-np.log2(np.maximum(survivors, 1 / sketch.n)))
    # The tail's mean excess, by its median: that of an exponential is ln 2 of its mean.
    excess = (sketch.get_quantile(1 - RAREST / 2) - points[-1]) / np.log(2)
    slope = min(1 / (excess * np.log(2)), MAX_SLOPE) if excess > 0 else MAX_SLOPE
    return replace(
        term,
        start=mean,
        points=tuple(points.tolist()),
        bits=tuple(bits.tolist()),
        slope=float(slope),
    )


def _channel(channel: Channel, sketch: Any, mean: float) -> Channel:  # noqa: ANN401
    """New centre and edges; the gains stay, as more blocks only bound what lies above closer."""
    centre = None if channel.centre is None else mean
    return replace(
        channel,
        centre=centre,
        edges=tuple(_edge(sketch, centre, share) for share in SHARES_ABOVE),
    )


def _edge(sketch: Any, centre: float | None, share: float) -> float:  # noqa: ANN401
    """What this share of block means lies beyond, or farther than from the centre."""
    low, high = sketch.get_min_value(), sketch.get_max_value()
    if centre is None:
        return float(sketch.get_quantile(1 - share) if share else high)
    near, far = 0.0, max(high - centre, centre - low)
    for _ in range(60 if share else 0):
        middle = (near + far) / 2
        apart = _share_apart(sketch, centre, middle)
        near, far = (middle, far) if apart > share else (near, middle)
    return float(far)


def _share_apart(sketch: Any, centre: float, distance: float) -> float:  # noqa: ANN401
    above = 1 - sketch.get_rank(centre + distance, True)
    return float(above + sketch.get_rank(centre - distance, False))


def _share_beyond(sketch: Any, channel: Channel) -> float:  # noqa: ANN401
    """Blocks of the field beyond the edge that 2 % of calibration's were beyond."""
    if sketch.n == 0:
        return 0.0
    if channel.centre is None:
        return float(1 - sketch.get_rank(channel.edges[1], True))
    return _share_apart(sketch, channel.centre, channel.edges[1])


def _with_threshold(profile: Profile, levels: Any) -> Profile:  # noqa: ANN401
    """Start and anchor: the lowest level that at most alpha of the steps reach."""
    threshold = profile.threshold
    allowed = int(levels.sum()) * threshold.alpha_q16 >> ALPHA_BITS
    reach = levels[::-1].cumsum()[::-1]  # steps at this level or above
    anchor = min(int(np.argmax(np.append(reach, 0) <= allowed)), RISK_LEVELS)
    return replace(profile, threshold=replace(threshold, start=anchor, anchor=anchor))


def _marked(profile: Profile, old: Profile, reference: Reference, alarmed: int) -> Profile:
    """A profile that says where its reference is from, held to the loader's rules."""
    figures = {
        **old.provenance.figures,
        MARK: float(reference.streams),
        "recalibration.steps": float(reference.steps),
        "recalibration.streams_left_out": float(alarmed),
        "threshold.anchor_risk": profile.threshold.anchor / RISK_LEVELS,
    }
    said = f"recalibrated from the field; it was fitted as profile {old.sha256[:8]}"
    provenance = replace(old.provenance, figures=figures, warnings=(*old.provenance.warnings, said))
    return Profile.from_json(replace(profile, provenance=provenance).to_json())


def _objections(comparison: Comparison, beyond: Mapping[str, float]) -> Iterator[str]:
    """What a person must look at before the new profile ships."""
    quieter = comparison.facts()["profiles"]["recalibrated"]["quieter"]
    if quieter:
        yield (
            f"{quieter:,} streams that alarm under the present profile no longer do:"
            " is their drift usual now?"
        )
    for signal, share in beyond.items():
        if share > MOST_BEYOND * SHARES_ABOVE[1]:
            yield (
                f"channel {signal}: {100 * share:.1f} % of the field's blocks lie where"
                f" {100 * SHARES_ABOVE[1]:.0f} % of calibration's did: the fleet drifts as a whole"
            )
