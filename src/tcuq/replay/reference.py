# SPDX-License-Identifier: Apache-2.0
"""The field's reference: a profile's signals over many streams, in counts that can be merged.

Signals are integers of at most 17 bits, so every value of a term and every block mean is counted
exactly, and the same streams give the same counts in any order.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from tcuq.calibrate.observe import term_inputs
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.quantize import SIGNALS, signal_scale, signal_unit
from tcuq.profile.settings import AnchoredScoreSettings, Signal, Term
from tcuq.replay.function import Steps
from tcuq.replay.layout import Layout, Span
from tcuq.stages.alarm import NEEDS_PAST

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WHOLE_PAST = 7  # column of the engine's observation
LOWEST, HIGHEST = -(1 << 15), 1 << 16  # of any signal in the device's integers


class Counts:
    """How often each integer was seen.

    Examples
    --------
    >>> counts = Counts()
    >>> counts.add(np.array([3, -1, 3]))
    >>> [column.tolist() for column in counts.seen()]
    [[-1, 3], [1, 2]]
    """

    def __init__(self) -> None:
        self._counts = np.zeros(HIGHEST - LOWEST + 1, np.int64)

    def add(self, values: NDArray[np.signedinteger]) -> None:
        """Count these."""
        self._counts += np.bincount(values - LOWEST, minlength=len(self._counts))

    def merge(self, other: "Counts") -> None:
        """Add what another has counted."""
        self._counts += other._counts  # noqa: SLF001 - of the same class

    def seen(self) -> tuple[Ints, Ints]:
        """The integers that were seen, ascending, and how often each."""
        index = np.flatnonzero(self._counts)
        return index + LOWEST, self._counts[index]

    @property
    def total(self) -> int:
        """How many were counted."""
        return int(self._counts.sum())


class Reference:
    """What a profile's signals look like on the streams it is given.

    Parameters
    ----------
    profile
        Its terms, channels and block lengths are kept.
    layout
        Of the chunks.
    """

    def __init__(self, profile: Profile, layout: Layout) -> None:
        self.terms = _terms_of(profile)
        self.channels = () if profile.alarm is None else profile.alarm.channels
        # By a term's place; the odds of an error are the classifier's, whatever the streams.
        self.surprises = {n: Counts() for n, t in enumerate(self.terms) if t.scale == "surprise"}
        self.blocks = [Counts() for _ in self.channels]  # of block means, rounded down
        self.sums: dict[Signal, int] = dict.fromkeys(SIGNALS, 0)
        self.counts: dict[Signal, int] = dict.fromkeys(SIGNALS, 0)
        self.streams = self.steps = 0
        self._monitor = Monitor(profile)
        self._score = Monitor(profile).engine
        self._as_taken = Steps(profile.inputs, layout)
        self._forget()

    def _forget(self) -> None:
        self._open: list[NDArray[np.int32]] = [np.empty(0, np.int32) for _ in self.channels]

    def take(self, spans: Iterable[Span], unwanted: frozenset[str]) -> None:
        """The steps of these streams, whole and in order, but for the unwanted ones."""
        for span in spans:
            if span.stream in unwanted:
                continue
            if span.starts_recording:
                self._monitor.reset_history()
                self._score.reset_history()
                self._forget()
            self.streams += span.starts_stream
            self.steps += span.steps
            self._observe(span)

    def _observe(self, span: Span) -> None:
        posteriors, features = self._as_taken(span)
        seen = self._monitor.engine.observe(posteriors, features)
        if seen is None:
            self._as_taken.refuse(span, posteriors, features)
        table = np.frombuffer(seen, np.int32).reshape(span.steps, -1)
        smoothed = np.frombuffer(self._score.score(seen)[1], np.int16)
        values = term_inputs(table, smoothed, self.terms)
        for number, counts in self.surprises.items():
            scale = signal_scale(self.terms[number].signal, summed=False)
            counts.add(np.rint(values[number] * scale).astype(np.int64))
        past = table[:, WHOLE_PAST] != 0
        for number, channel in enumerate(self.channels):
            column = table[:, SIGNALS.index(channel.signal)]
            counted = column[past] if channel.signal in NEEDS_PAST else column
            whole = np.concatenate([self._open[number], counted])
            full = len(whole) // channel.block * channel.block
            sums = whole[:full].reshape(-1, channel.block).sum(axis=1)
            self.blocks[number].add(sums // channel.block)
            self._open[number] = whole[full:]
        for index, signal in enumerate(SIGNALS):
            counted = table[past, index] if signal in NEEDS_PAST else table[:, index]
            self.sums[signal] += int(counted.sum())
            self.counts[signal] += len(counted)

    def merge(self, other: "Reference") -> None:
        """Add what another has seen."""
        for mine, theirs in zip(
            [*self.surprises.values(), *self.blocks],
            [*other.surprises.values(), *other.blocks],
            strict=True,
        ):
            mine.merge(theirs)
        for signal in SIGNALS:
            self.sums[signal] += other.sums[signal]
            self.counts[signal] += other.counts[signal]
        self.streams += other.streams
        self.steps += other.steps

    def means(self) -> Mapping[Signal, float]:
        """The mean of every signal, in float units."""
        return {
            signal: self.sums[signal] / max(self.counts[signal], 1) * signal_unit(signal)
            for signal in SIGNALS
        }


def _terms_of(profile: Profile) -> tuple[Term, ...]:
    """The anchored score's terms; the tcuq score has none."""
    score = profile.score
    return score.terms if isinstance(score, AnchoredScoreSettings) else ()
