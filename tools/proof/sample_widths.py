# SPDX-License-Identifier: Apache-2.0
"""Lemmas on input health: no sum over the samples of a window leaves its C type."""

from collections.abc import Iterator, Mapping

import z3

from tools.proof.lemma import (
    INT16,
    INT32,
    UINT32,
    UINT64,
    Lemma,
    Statement,
    Tried,
    sum_fits,
    within,
)

APART = 2**16 - 1  # between two samples, at most
LOG_MOST = 63 << 10  # a logarithm of 63 bits, as all these sums have, is below this in Q10


def sample_lemmas(limits: Mapping[str, int]) -> Iterator[Statement]:
    """Yield lemmas on the sums of a channel and of a group, and on their statistics."""
    frames, channels = limits["TCUQ_HEALTH_MAX_FRAMES"], limits["TCUQ_HEALTH_MAX_CHANNELS"]
    begin, shift = limits["TCUQ_HEALTH_LONG"], limits["TCUQ_HEALTH_SHIFT"]
    value = z3.Int("value")
    squared = within(value * value, (0, APART * APART))
    yield Lemma("a squared difference", within(value, (-APART, APART)), squared)
    sizes = range(-APART, APART + 1)
    same = all((abs(v) * abs(v)) % 2**32 == v * v for v in sizes)
    yield Tried("a square by 32 bits, as on Cortex-M0, is that by 64", lambda: same)
    level = within(value * value, (0, 2**30))
    yield Lemma("a squared sample", within(value, INT16), level)
    yield sum_fits("a channel's samples", INT16, frames, (0, 0), INT32)
    samples = frames * channels
    yield sum_fits("a group's squared differences", (0, APART**2), samples, (0, 0), UINT64)
    yield sum_fits("a group's squared samples", (0, 2**30), samples, (0, 0), UINT64)
    for name, most, by in (("short", begin - 1, 0), ("long", frames, shift)):
        unit, square = most**2 >> by, (most << 15) ** 2 >> by
        what = f"squared sums of a group in a {name} window, and the unit"
        yield sum_fits(what, (0, square), channels, (unit, unit), UINT64)
        squares, count = z3.Ints("squares count")
        given = z3.And(
            within(squares, (0, (most * channels << 30) >> by)), within(count, (1, most))
        )
        product = within(squares * count + most, UINT64)
        yield Lemma(f"frames times squares in a {name} window", given, product)
    pairs, repeats = z3.Ints("pairs repeats")
    given = z3.And(within(pairs, (1, frames)), within(repeats, (0, frames)))
    yield Lemma("repeats in Q10", given, within(repeats * 1024 + pairs / 2, UINT32))
    low, high = z3.Ints("low high")
    given = z3.And(within(high, (0, LOG_MOST - 1)), within(low, (0, LOG_MOST - 1)), low <= high)
    yield Lemma("half of a difference of logarithms", given, within((high - low + 1) / 2, INT16))
