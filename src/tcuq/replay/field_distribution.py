# SPDX-License-Identifier: Apache-2.0
"""The field's reference: a profile's signals over many streams, in counts that can be merged.

Signals are integers of at most 17 bits, so every value of a term and every block mean is counted
exactly, and the same streams give the same counts in any order. Blocks span the recordings of a
stream, as on the device.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from tcuq.calibrate.observe import HEALTH, HEALTH_GIVEN, WHOLE_PAST
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.settings import AnchoredScoreSettings, Channel, ChannelSignal, Signal, Term
from tcuq.profile.signal_units import LOGARITHMS, SIGNALS, signal_unit
from tcuq.replay.function import StepConverter
from tcuq.replay.layout import Layout, Span
from tcuq.runtime import risk_odds_q10
from tcuq.stages.alarm import NEEDS_PAST

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LOWEST, HIGHEST = -(1 << 15), 1 << 16  # of any signal in the device's integers
COLUMNS: dict[str, int] = {name: index for index, name in enumerate(SIGNALS)} | {"health": HEALTH}
ODDS_Q10 = np.frombuffer(risk_odds_q10, np.int16).astype(np.int32)  # by level of risk


class Counts:
    """Counts of integers.

    Examples
    --------
    >>> counts = Counts()
    >>> counts.add(np.array([3, -1, 3]))
    >>> [column.tolist() for column in counts.counted()]
    [[-1, 3], [1, 2]]
    """

    def __init__(self) -> None:
        self._counts = np.zeros(HIGHEST - LOWEST + 1, np.int64)

    def add(self, values: NDArray[np.signedinteger]) -> None:
        """Count these integers."""
        self._counts += np.bincount(values - LOWEST, minlength=len(self._counts))

    def merge(self, other: "Counts") -> None:
        """Add the counts of another."""
        self._counts += other._counts  # noqa: SLF001 - of the same class

    def counted(self) -> tuple[Ints, Ints]:
        """Return the distinct integers, ascending, and the count of each."""
        index = np.flatnonzero(self._counts)
        return index + LOWEST, self._counts[index]

    @property
    def total(self) -> int:
        """Number of counted integers."""
        return int(self._counts.sum())


class Reference:
    """Distribution on field streams of a profile's risk, terms and channels."""

    def __init__(self, profile: Profile, layout: Layout) -> None:
        score = profile.score  # the tcuq score has no terms
        terms = score.terms if isinstance(score, AnchoredScoreSettings) else ()
        self.terms: tuple[Term, ...] = (*terms, *(term.as_term() for term in profile.novelty))
        self.channels: tuple[Channel, ...] = () if profile.alarm is None else profile.alarm.channels
        # By a term's index; the odds of an error depend on the classifier alone.
        self.surprises: dict[int, Counts] = {
            number: Counts() for number, term in enumerate(self.terms) if term.scale == "surprise"
        }
        self.levels: Counts = Counts()  # of the risk, 0..16384
        self.blocks: dict[ChannelSignal, Counts] = {  # of block means, rounded down
            channel.signal: Counts() for channel in self.channels
        }
        self.sums: dict[Signal, int] = dict.fromkeys(SIGNALS, 0)
        self.counts: dict[Signal, int] = dict.fromkeys(SIGNALS, 0)
        self.streams: int = 0
        self.steps: int = 0
        self._monitor = Monitor(profile)
        self._score = Monitor(profile).engine
        self._convert = StepConverter(profile, layout)
        self._forget()

    def _forget(self) -> None:
        self._unfinished = dict.fromkeys(self.blocks, np.empty(0, np.int32))

    def take(self, spans: Iterable[Span], excluded: frozenset[str]) -> None:
        """Add the steps of these streams, whole and in order, except excluded ones."""
        for span in spans:
            if span.stream in excluded:
                continue
            if span.starts_stream:
                self._forget()
            if span.starts_recording:
                self._monitor.reset_history()
                self._score.reset_history()
            self.streams += span.starts_stream
            self.steps += span.steps
            self._observe(span)

    def _observe(self, span: Span) -> None:
        posteriors, features, health = self._convert(span)
        observed = self._monitor.engine.observe(posteriors, features, health)
        if observed is None:
            self._convert.refuse(span, posteriors, features)
        table = np.frombuffer(observed, np.int32).reshape(span.steps, -1)
        levels = np.frombuffer(self._score.score(observed), np.uint16).astype(np.int64)
        self.levels.add(levels)
        for number, counts in self.surprises.items():
            signal = self.terms[number].signal
            column = table[:, SIGNALS.index(signal)]
            # The device halves a signal in Q15 towards zero.
            counts.add((column if signal in LOGARITHMS else column >> 1).astype(np.int64))
        self._take_blocks(table, ODDS_Q10[levels])
        for index, signal in enumerate(SIGNALS):
            counted = table[:, index][_counts_at(signal, table)]
            self.sums[signal] += int(counted.sum())
            self.counts[signal] += len(counted)

    def _take_blocks(self, table: NDArray[np.int32], odds: NDArray[np.int32]) -> None:
        """Count the blocks that end here; keep the steps of unfinished ones."""
        for channel in self.channels:
            signal = channel.signal
            column = odds if signal == "risk" else table[:, COLUMNS[signal]]
            steps = np.concatenate([self._unfinished[signal], column[_counts_at(signal, table)]])
            full = len(steps) // channel.block * channel.block
            sums = steps[:full].reshape(-1, channel.block).sum(axis=1)
            self.blocks[signal].add(sums // channel.block)
            self._unfinished[signal] = steps[full:]

    def merge(self, other: "Reference") -> None:
        """Add the counts of another."""
        for mine, theirs in zip(
            [self.levels, *self.surprises.values(), *self.blocks.values()],
            [other.levels, *other.surprises.values(), *other.blocks.values()],
            strict=True,
        ):
            mine.merge(theirs)
        for signal in SIGNALS:
            self.sums[signal] += other.sums[signal]
            self.counts[signal] += other.counts[signal]
        self.streams += other.streams
        self.steps += other.steps

    def means(self) -> Mapping[str, float]:
        """Return the mean of every signal, in float units."""
        return {
            signal: self.sums[signal] / max(self.counts[signal], 1) * signal_unit(signal)
            for signal in SIGNALS
        }


def _counts_at(signal: str, table: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return the steps that count for a signal: those with their whole past, or with health."""
    counted: NDArray[np.bool_] = np.ones(len(table), np.bool_)
    if signal == "health":
        counted = table[:, HEALTH_GIVEN] != 0
    elif signal in NEEDS_PAST:
        counted = table[:, WHOLE_PAST] != 0
    return counted
