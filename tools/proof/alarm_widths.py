# SPDX-License-Identifier: Apache-2.0
"""Lemmas on the alarm and the epoch: no sum, bet, evidence or logarithm leaves its C type."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import z3

from tools.proof.constants import tables
from tools.proof.lemma import (
    INT16,
    INT32,
    UINT16,
    UINT32,
    UINT64,
    Lemma,
    Range,
    Statement,
    Tried,
    sum_fits,
    within,
)

ONE_Q8 = 256  # a bit of a logarithm; two equal powers add one


def alarm_lemmas(limits: Mapping[str, int]) -> Iterator[Statement]:
    """Yield lemmas in the order in which a block passes them."""
    yield from _block_lemmas(limits)
    yield from _bet_lemmas(limits)
    yield from _evidence_lemmas(limits)
    yield from _epoch_lemmas(limits)


def _block_lemmas(limits: Mapping[str, int]) -> Iterator[Statement]:
    block = limits["TCUQ_MAX_BLOCK"]
    value: Range = (INT16[0], UINT16[1])  # Q15 of 16 bits, or a logarithm
    yield sum_fits("a block's sum", value, block, (0, 0), INT32)
    total, taken, added, centre = z3.Ints("total taken added centre")
    given = z3.And(within(taken, (0, block - 1)), total >= -65536 * taken, total <= 65536 * taken,
                   within(added, value), within(centre, (-(2**30), 2**30)))  # fmt: skip
    after = total + added
    claim = z3.And(after >= -65536 * (taken + 1), after <= 65536 * (taken + 1),
                   within(after - centre, INT32), within(centre - after, INT32))  # fmt: skip
    yield Lemma("a block's sum, restored or not, from its centre", given, claim)
    memory = z3.Int("memory")
    shift = 1 << limits["TCUQ_RECENT_SHIFT"]
    given = z3.And(within(memory, (0, limits["TCUQ_RECENT_BLOCKS"])), within(taken, (0, block - 1)))
    claim = z3.And(taken + 1 < shift, within(memory * shift + taken + 1, UINT16))
    yield Lemma("a block's steps beside the memory of a pass", given, claim)


def _bet_lemmas(limits: Mapping[str, int]) -> Iterator[Statement]:
    tops = (limits["TCUQ_TOP_STAKE_Q16"], limits["TCUQ_BEYOND_STAKE_Q16"])
    stakes = (limits["TCUQ_LOW_STAKE_Q16"], limits["TCUQ_MIDDLE_STAKE_Q16"], *tops)
    most = limits["TCUQ_COUNT_MAX"]
    chances, passes, count = z3.Ints("chances passes count")
    given = within(chances, UINT16)
    claim = z3.And(*(within(stake * chances, UINT32) for stake in stakes))
    yield Lemma("a stake times the chances", given, claim)
    parts = z3.Ints("highest beyond")
    given = z3.And(within(chances, UINT16), *(within(part, (0, stake * UINT16[1]))
                   for part, stake in zip(parts, tops, strict=True)))  # fmt: skip
    bet = 2**16 - sum(tops) + z3.Sum(parts)
    yield Lemma("the bet on the two highest edges", given, within(bet, UINT32))
    given = z3.And(within(count, (1, most)), within(passes, (1, most)))
    after = z3.If(count > 32, 2 * (count - 32), 0) + passes
    grown = z3.And(
        within(count + limits["TCUQ_UNITS_PER_BLOCK"], UINT16), (count + 16 + 1) / 2 <= most
    )
    yield Lemma("the chances after a pass", given, within(after, UINT32))
    yield Lemma("a count that grows, and its half", given, grown)


def _evidence_lemmas(limits: Mapping[str, int]) -> Iterator[Statement]:
    power, bet, octave = z3.Ints("power bet octave")
    highest = limits["TCUQ_MAX_LEVEL"] // 8
    given = z3.And(within(power, UINT16), within(bet, UINT32), within(octave, (0, highest)))
    wealth = power * bet + 2**31
    claim = z3.And(within(wealth, UINT64), within(wealth / 2**16, UINT32), octave <= 31)
    yield Lemma("a bet's sum times its payoff, and one more", given, claim)
    limit, evidence = z3.Ints("limit evidence")
    bets = limits["TCUQ_BETS"]
    given = within(limit, (1, limits["TCUQ_MAX_ALARM_LIMIT"]))
    alone = 2**30 - limits["TCUQ_MAX_BLOCK"]  # what one bet's sum reaches
    claim = z3.And(within(bets * limit + 63, UINT32), bets * limit <= alone)
    yield Lemma("the evidence that alarms", given, claim)
    given = within(evidence, (0, 2**30))
    yield Lemma("the sums of a channel's bets", given, within(bets * evidence, UINT32))
    reached = limits["TCUQ_MIN_BLOCK"] * 2**highest >= 2**30
    yield Tried("the highest level is of the highest sum", lambda: reached)
    rests = all(level <= limits["TCUQ_MAX_LEVEL"] for level in tables()["tcuq_rest"])
    yield Tried("the levels at which bets rest", lambda: rests)


def _epoch_lemmas(limits: Mapping[str, int]) -> Iterator[Statement]:
    onset, gain, added = z3.Ints("onset gain added")
    given = z3.And(within(onset, INT16), within(gain, INT16), within(added, (0, ONE_Q8)))
    start = z3.If(onset > 0, onset, 0) + added + gain
    yield Lemma("an onset and a gain", given, within(start, INT32))
    channels, places = limits["TCUQ_MAX_CHANNELS"], 16385  # tcuq_log2_up_q8
    total, i, blocks, steps, span = z3.Ints("total i blocks steps span")
    given = z3.And(within(onset, INT16), within(span, INT16), within(blocks, (0, places)))
    terms = (onset - blocks - ONE_Q8, span - 2 * blocks)
    claim = z3.And(*(within(term, (-(2**20), 2**15 - 1)) for term in terms))
    yield Lemma("logarithms of a channel's two sums", given, claim)
    top = 2**15 + 2 * ONE_Q8
    given = z3.And(
        within(i, (0, channels - 1)), within(total, (-(2**16), top + ONE_Q8 * i)),
        within(span, (-(2**20), 2**15 + ONE_Q8)), within(added, (0, ONE_Q8)),
    )  # fmt: skip
    larger = z3.If(total > span, total, span) + added
    claim = z3.And(larger <= top + ONE_Q8 * (i + 1), within(larger, (-(2**16), 2**20)))
    yield Lemma("logarithms summed over channels", given, claim)
    lengths = limits["TCUQ_MIN_BLOCK"], limits["TCUQ_MAX_BLOCK"]
    given = z3.And(within(steps, (0, INT32[1])), within(blocks, lengths))
    yield Lemma("blocks of an epoch", given, within(steps / blocks + 2, UINT32))
    points, last = tables()["tcuq_log_add_q8"], limits["TCUQ_LOG_ADD_POINTS"]
    descends = len(points) == last + 1 and all(a >= b for a, b in pairwise(points))
    yield Tried("the table of sums' logarithms descends", lambda: descends)
