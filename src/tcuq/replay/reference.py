# SPDX-License-Identifier: Apache-2.0
"""The field's reference: a profile's signals over many streams, in summaries that can be merged.

Quantile sketches (REQ: the error shrinks towards the tail) of every term's values and of every
channel's block means, with exact sums. A few kilobytes however long the streams are.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import MissingExtraError
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.quantize import SIGNALS, signal_scale
from tcuq.profile.settings import AnchoredScoreSettings, Signal, Term
from tcuq.replay.function import Steps
from tcuq.replay.layout import Layout, Span
from tcuq.stages.alarm import NEEDS_PAST

Floats = NDArray[np.float64]

ACCURACY = 50  # the sketch's k: ranks near the top are right within a thousandth of their rest
WHOLE_PAST = 7  # column of the engine's observation


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
        self.surprises = {n: _sketch() for n, t in enumerate(self.terms) if t.scale == "surprise"}
        self.blocks = [_sketch() for _ in self.channels]
        self.sums: dict[Signal, float] = dict.fromkeys(SIGNALS, 0.0)
        self.counts: dict[Signal, int] = dict.fromkeys(SIGNALS, 0)
        self.streams = self.steps = 0
        self._monitor = Monitor(profile)
        self._as_taken = Steps(profile.inputs, layout)
        self._forget()

    def _forget(self) -> None:
        self._smoothed = [term.start for term in self.terms]
        self._open: list[Floats] = [np.empty(0) for _ in self.channels]

    def take(self, spans: Iterable[Span], unwanted: frozenset[str]) -> None:
        """The steps of these streams, whole and in order, but for the unwanted ones."""
        for span in spans:
            if span.stream in unwanted:
                continue
            if span.starts_recording:
                self._monitor.reset_history()
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
        values = {
            signal: table[:, column] / signal_scale(signal, summed=True)
            for column, signal in enumerate(SIGNALS)
        }
        past = table[:, WHOLE_PAST] != 0
        for number, sketch in self.surprises.items():
            term = self.terms[number]
            sketch.update(self._smooth(number, term, values[term.signal]))
        for number, channel in enumerate(self.channels):
            column = values[channel.signal]
            counted = column[past] if channel.signal in NEEDS_PAST else column
            whole = np.concatenate([self._open[number], counted])
            full = len(whole) // channel.block * channel.block
            self.blocks[number].update(whole[:full].reshape(-1, channel.block).mean(axis=1))
            self._open[number] = whole[full:]
        for signal, column in values.items():
            counted = column[past] if signal in NEEDS_PAST else column
            self.sums[signal] += float(counted.sum())
            self.counts[signal] += len(counted)

    def _smooth(self, number: int, term: Term, values: Floats) -> Floats:
        """A term's values as its table is asked for them: smoothed, and the surprising end up."""
        if term.ewma is not None:
            from scipy.signal import lfilter

            factor = 2.0**-term.ewma
            before = [(1 - factor) * self._smoothed[number]]
            values, _ = lfilter([factor], [1, factor - 1], values, zi=before)
            self._smoothed[number] = float(values[-1])
        return values if term.tail == "upper" else -values

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
        """Of every signal."""
        return {signal: self.sums[signal] / max(self.counts[signal], 1) for signal in SIGNALS}


def _terms_of(profile: Profile) -> tuple[Term, ...]:
    """The anchored score's terms; the tcuq score has none."""
    score = profile.score
    return score.terms if isinstance(score, AnchoredScoreSettings) else ()


def _sketch() -> Any:  # noqa: ANN401 - datasketches has no types
    try:
        from datasketches import req_floats_sketch
    except ImportError:
        raise MissingExtraError("datasketches", "sketches") from None
    return req_floats_sketch(ACCURACY, True)
