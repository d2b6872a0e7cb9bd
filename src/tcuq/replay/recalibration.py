# SPDX-License-Identifier: Apache-2.0
"""Recalibrate from the field: refit a profile's reference on streams without an alarm.

Tables, centres, edges and threshold are new. The references of novelty and health, weights, block
lengths, and the bets' gains and counts stay: an edge is put where the same share of blocks lies
above it, so how often calibration passed it still holds. The risk changes with the tables, so a
second pass refits edges and threshold. A change that hides drift needs a person's consent.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from tcuq.calibrate.bets import SHARES_ABOVE, edges_above
from tcuq.calibrate.scores import with_table
from tcuq.calibrate.tails import survival_table
from tcuq.errors import FitError, StreamError
from tcuq.profile import Profile
from tcuq.profile.settings import (
    ALPHA_BITS,
    RISK_LEVELS,
    AnchoredScoreSettings,
    Channel,
    Finding,
    Term,
    ThresholdSettings,
)
from tcuq.profile.signal_units import signal_scale, signal_unit, steepest_slope
from tcuq.replay.comparison import ReplayComparison
from tcuq.replay.field_distribution import Counts, Floats, Ints, Reference
from tcuq.replay.function import Replay, Runner
from tcuq.replay.layout import Chunks
from tcuq.replay.units import Source, Unit, arrow, read_unit, sources_of
from tcuq.stages.alarm import distance_from_centre

T = TypeVar("T")

RECALIBRATED_KEY = "recalibration.streams"
MOST_BEYOND = 2.0  # times as many blocks beyond an old edge as calibration had: drift, not noise


@dataclass(frozen=True, slots=True)
class Recalibrated:
    """The new profile, its comparison with the old on the whole archive, and objections to it."""

    profile: Profile
    comparison: ReplayComparison
    beyond: Mapping[str, float]  # by channel: share of blocks beyond the old 2 % edge
    objections: tuple[str, ...]


def recalibrate(
    profile: Profile, paths: Sequence[str | os.PathLike[str]], *, threads: int | None = None
) -> Recalibrated:
    """Refit a profile's reference on the streams on which it never alarmed.

    Parameters
    ----------
    profile
        From ``tcuq.fit``: a recalibrated one is refused, so that small steps cannot add up.
    paths
        Files of chunks, or folders of them.
    threads
        Row groups processed at once; one per core if None.
    """
    if RECALIBRATED_KEY in profile.provenance.figures:
        raise FitError(
            "the profile was recalibrated already: give the one that was fitted,"
            " else small changes add up unseen"
        )
    if profile.alarm is None:
        raise FitError("a profile without an alarm cannot tell which streams drifted; fit one")
    sources = sources_of(paths)
    archive = _Archive(sources, threads or os.cpu_count() or 1)
    alarmed = archive.alarmed(profile)
    reference = archive.reference(profile, alarmed)
    if reference.streams == 0:
        raise FitError("no stream of the archive is free of alarms: nothing to calibrate on")
    _check_blocks(profile, reference)
    rescored = _with_terms(profile, reference)
    refitted = _with_channels(rescored, archive.reference(rescored, alarmed))
    refitted = _with_origin(refitted, profile, reference, len(alarmed))
    comparison = archive.comparison({"present": profile, "recalibrated": refitted})
    beyond: dict[str, float] = {
        channel.signal: _share_beyond(reference.blocks[channel.signal], channel)
        for channel in reference.channels
    }
    objections = tuple(_objections(comparison, beyond))
    return Recalibrated(refitted, comparison, beyond, objections)


class _Archive:
    """Recorded streams, processed unit by unit in threads."""

    def __init__(self, sources: Sequence[Source], threads: int) -> None:
        self._sources = sources
        self._threads = threads

    def _map(self, work: Callable[[Unit, Source, Any], T]) -> Iterator[T]:
        pa, _ = arrow()

        def run(unit: Unit) -> T:
            source = self._sources[unit.number]
            try:
                return work(unit, source, read_unit(unit, source.layout))
            except (StreamError, pa.ArrowException, OSError) as error:
                last = unit.first_row + unit.rows - 1
                raise StreamError(f"{unit.path} rows {unit.first_row}..{last}: {error}") from None

        with ThreadPoolExecutor(self._threads) as pool:
            yield from pool.map(run, [unit for source in self._sources for unit in source.units])

    def comparison(self, profiles: Mapping[str, Profile]) -> ReplayComparison:
        """Run profiles over all streams."""
        pa, _ = arrow()
        result = ReplayComparison(profiles)

        def run(unit: Unit, source: Source, batches: Iterable[Any]) -> Any:  # noqa: ANN401
            runner = Runner(Replay(profiles, source.layout))
            return list(runner.run(batches, name=unit.path.stem))

        for batches in self._map(run):
            result.take(pa.Table.from_batches(batches))
        return result

    def alarmed(self, profile: Profile) -> frozenset[str]:
        """Return the streams on which the profile alarmed at least once."""

        def run(unit: Unit, source: Source, batches: Iterable[Any]) -> list[str]:
            runner = Runner(Replay({"": profile}, source.layout))
            tables = runner.run(batches, name=unit.path.stem)
            rows = [row for t in tables for row in t.select(["stream", "alarms"]).to_pylist()]
            return [row["stream"] for row in rows if row["alarms"]]

        return frozenset(stream for streams in self._map(run) for stream in streams)

    def reference(self, profile: Profile, excluded: frozenset[str]) -> Reference:
        """Return the signals and the risk of all other streams."""

        def run(unit: Unit, source: Source, batches: Iterable[Any]) -> Reference:
            part, chunks = Reference(profile, source.layout), Chunks(source.layout, unit.path.stem)
            for batch in batches:
                part.take(chunks.spans(batch), excluded)
            return part

        reference = Reference(profile, self._sources[0].layout)
        for part in self._map(run):
            reference.merge(part)
        return reference


def _check_blocks(profile: Profile, reference: Reference) -> None:
    """Refuse fewer blocks than calibration had: gains and counts would not be valid."""
    for channel in reference.channels:
        blocks = reference.blocks[channel.signal].total
        needed = profile.provenance.figures.get(f"{channel.signal}.independent_blocks", 0)
        if blocks < needed and not _is_absent(channel, reference):
            raise FitError(
                f"channel {channel.signal}: the field's streams without an alarm must have"
                f" {needed:.0f} blocks of {channel.block} steps, as calibration, got {blocks}"
            )


def _is_absent(channel: Channel, reference: Reference) -> bool:
    """Tell whether the archive has no values of a channel: it may lack input health."""
    return channel.signal == "health" and reference.blocks["health"].total == 0


def _with_terms(profile: Profile, reference: Reference) -> Profile:
    """Refit the tables of score and novelty on the field's signals."""
    terms = list(reference.terms)
    for number, counts in reference.surprises.items():
        terms[number] = _term(terms[number], counts)
    own = len(terms) - len(profile.novelty)
    novelty = tuple(
        replace(mine, points=term.points, bits=term.bits, slope=term.slope)
        for mine, term in zip(profile.novelty, terms[own:], strict=True)
    )
    score = profile.score
    if isinstance(score, AnchoredScoreSettings):
        score = replace(score, terms=tuple(terms[:own]))
    return replace(profile, score=score, novelty=novelty)


def _with_channels(profile: Profile, reference: Reference) -> Profile:
    """Refit the alarm's channels and the threshold on the field's signals and risk."""
    assert profile.alarm is not None  # noqa: S101 - checked; for the type checker
    means = reference.means()
    channels = tuple(
        channel if _is_absent(channel, reference) else _channel(channel, reference, means)
        for channel in profile.alarm.channels
    )
    threshold = _threshold(profile.threshold, reference.levels)
    # No label says what is wrong under the new tables and threshold: there is no promise on it.
    alarm = replace(profile.alarm, channels=channels)
    return replace(profile, threshold=threshold, alarm=alarm, promise=None)


def _term(term: Term, counts: Counts) -> Term:
    """Refit the term's table on the field's values."""
    values, times = counts.counted()
    scale = signal_scale(term.signal, summed=False)
    table = survival_table(values / scale, times, steepest_slope(term.signal))
    return with_table(term, table)


def _channel(channel: Channel, reference: Reference, means: Mapping[str, float]) -> Channel:
    """Refit centre and edges; the gains stay valid, as more blocks only tighten their bounds."""
    centre = None if channel.centre is None else means[channel.signal]
    heights = _heights(reference.blocks[channel.signal], channel, centre)
    return replace(channel, centre=centre, edges=edges_above(*heights))


def _heights(counts: Counts, channel: Channel, centre: float | None) -> tuple[Floats, Ints]:
    """Return upper bounds of block means or their distance from the centre, and their counts."""
    rounded, times = counts.counted()
    means = rounded.astype(np.float64)
    # Means were rounded down by less than 1: a block lies between here and the next integer.
    unit, width = signal_unit(channel.signal), 1 - 1 / channel.block
    highest = distance_from_centre((means + width) * unit, centre)
    return np.maximum(highest, distance_from_centre(means * unit, centre)), times


def _share_beyond(counts: Counts, channel: Channel) -> float:
    """Return the share of blocks beyond the edge that 2 % of calibration's exceeded."""
    heights, times = _heights(counts, channel, channel.centre)
    beyond = int(times[heights > channel.edges[1]].sum())
    return beyond / counts.total if counts.total else 0.0


def _threshold(threshold: ThresholdSettings, levels: Counts) -> ThresholdSettings:
    """Set start and anchor to the lowest level that at most alpha of the steps reach."""
    values, times = levels.counted()
    at_least = times[::-1].cumsum()[::-1]  # steps at this level or above
    allowed = levels.total * threshold.alpha_q16 >> ALPHA_BITS
    anchor = min(int(values[at_least > allowed][-1]) + 1, RISK_LEVELS)
    return replace(threshold, start=anchor, anchor=anchor)


def _with_origin(profile: Profile, old: Profile, reference: Reference, alarmed: int) -> Profile:
    """Add the reference's origin and check the profile as the loader does."""
    figures = {
        **old.provenance.figures,
        RECALIBRATED_KEY: float(reference.streams),
        "recalibration.steps": float(reference.steps),
        "recalibration.streams_left_out": float(alarmed),
        "threshold.anchor_risk": profile.threshold.anchor / RISK_LEVELS,
    }
    origin = Finding(
        "recalibrated",
        f"Recalibrated from the field; it was fitted as profile {old.sha256[:8]}.",
    )
    dropped = Finding(
        "promise_dropped",
        "The old profile's promise on the accepted error does not hold for this one: fit again"
        " with accepted_error= and labels.",
    )
    lost = () if old.promise is None else (dropped,)
    findings = (origin, *lost, *old.provenance.findings)
    provenance = replace(old.provenance, figures=figures, findings=findings)
    return Profile.from_json(replace(profile, provenance=provenance).to_json())


def _objections(comparison: ReplayComparison, beyond: Mapping[str, float]) -> Iterator[str]:
    """Yield what a person must check before the new profile ships."""
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
