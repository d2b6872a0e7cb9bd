# SPDX-License-Identifier: Apache-2.0
"""Rehearsal: the alarm on calibration itself, each stretch against bets fitted on the others.

A stretch that the others do not prepare for gathers evidence here as it will in the field. How the
highest evidence of each excursion is distributed says how rare alarms will be at a limit that
calibration is too short to reach: in bits, its excesses over a high value are exponential.
What changes more slowly than calibration is long is not in it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tcuq.calibrate.bets import block_means, recounted
from tcuq.profile.settings import AlarmSettings, Channel
from tcuq.stages.alarm import BETS, Bets, edges_passed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Values = tuple[Ints, Floats]  # of a channel: the steps it counts, and their values

STRETCHES = 8
LONGEST = 1 << 17  # steps rehearsed at most, an equal share of each stretch
HIGHEST, FEWEST = 20, 2  # of the excursions that the estimate rests on, at most a quarter of all
LEAST_MEAN_BITS = 0.1
EXTRAPOLATED = 256  # times its own length: calibration supports nothing rarer


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The steps per false alarm that calibration supports, and how often its label changed."""

    supported: float
    label_changes: int


def rehearse(
    alarm: AlarmSettings, values: Sequence[Values], labels: NDArray[np.int32], distinct_share: float
) -> Rehearsal:
    """Replay each stretch of calibration against bets counted on the others."""
    cuts = np.linspace(0, len(labels), STRETCHES + 1).astype(np.int64).tolist()
    peaks: list[float] = []
    for begin, end in pairwise(cuts):
        inside = [(steps >= begin) & (steps < end) for steps, _ in values]
        others = [each[~within] for (_, each), within in zip(values, inside, strict=True)]
        if min(map(len, others)) == 0:
            continue
        channels = [
            recounted(channel, each, distinct_share)
            for channel, each in zip(alarm.channels, others, strict=True)
        ]
        stop = min(end, begin + LONGEST // STRETCHES)
        held_out = [
            (steps[within & (steps < stop)], each[within & (steps < stop)])
            for (steps, each), within in zip(values, inside, strict=True)
        ]
        peaks += _peaks(channels, held_out)
    changes = int(np.count_nonzero(np.diff(labels)))
    return Rehearsal(_supported(alarm, peaks, min(len(labels), LONGEST)), changes)


def _supported(alarm: AlarmSettings, peaks: Sequence[float], steps: int) -> float:
    """Return the steps per excursion beyond the alarm's limit, by the highest excursions."""
    bits = np.sort(np.log2(np.array(peaks)))[::-1]
    count = min(HIGHEST, len(bits) // 4)
    if count < FEWEST:
        return float(EXTRAPOLATED * steps)
    mean = max(float((bits[:count] - bits[count]).mean()), LEAST_MEAN_BITS)
    beyond = math.log2(BETS * alarm.limit) - bits[count]
    per_excursion = beyond / mean / math.log(2)
    return float(steps * 2 ** min(per_excursion - math.log2(count), math.log2(EXTRAPOLATED)))


def _peaks(channels: Sequence[Channel], values: Sequence[Values]) -> Iterator[float]:
    """Yield the highest evidence of each excursion from rest."""
    bets = [Bets(channel) for channel in channels]
    evidence = [0] * len(bets)
    peak = 0
    for _, index, passed in sorted(_blocks(channels, values)):
        bets[index].take(passed)
        evidence[index] = bets[index].evidence
        peak = max(peak, total := sum(evidence))
        if peak and total == 0:
            yield peak
            peak = 0
    if peak:
        yield peak


def _blocks(
    channels: Sequence[Channel], values: Sequence[Values]
) -> Iterator[tuple[int, int, int]]:
    """Yield the step at which each block ends, its channel, and the edges it passed."""
    for index, (channel, (steps, each)) in enumerate(zip(channels, values, strict=True)):
        passed = edges_passed(block_means(each, channel.block), channel.edges, channel.centre)
        ends = steps[channel.block - 1 :: channel.block]
        yield from zip(ends.tolist(), [index] * len(ends), passed.tolist(), strict=True)
