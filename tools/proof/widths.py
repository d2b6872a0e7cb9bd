# SPDX-License-Identifier: Apache-2.0
"""Lemmas: no sum or product of docs/spec/arithmetic.md leaves the C type it is kept in.

The limits are read from the runtime's headers and tables, so that a limit that is raised past
what its accumulator holds makes its lemma fail.
"""

from collections.abc import Iterator, Mapping

import z3

from tools.proof.alarm_widths import alarm_lemmas
from tools.proof.axioms import axiom_lemmas
from tools.proof.constants import defines, tables
from tools.proof.constants import shares as stated_shares
from tools.proof.lemma import (
    INT8,
    INT16,
    INT32,
    UINT16,
    UINT32,
    Lemma,
    Range,
    Statement,
    Tried,
    check_all,
    product_range,
    sum_fits,
    within,
)
from tools.proof.sample_widths import sample_lemmas

Limits = Mapping[str, int]
POSTERIOR_MOST = 255
WHITENED: Range = (-(2**12), 2**12 - 1)  # tcuq_saturate_13


def lemmas(limits: Limits | None = None) -> Iterator[Statement]:
    """Yield all lemmas, for the runtime's limits or for others."""
    limits = limits or defines()
    yield from axiom_lemmas()
    yield from signal_lemmas(limits)
    yield from vector_lemmas(limits)
    yield from score_lemmas(limits)
    yield from decision_lemmas(limits)
    yield from alarm_lemmas(limits)
    yield from product_lemmas()
    yield from sample_lemmas(limits)


def signal_lemmas(limits: Limits) -> Iterator[Statement]:
    """Yield lemmas on posteriors: entropy, divergence, confidence, doubt."""
    classes, lags = limits["TCUQ_MAX_CLASSES"], limits["TCUQ_MAX_LAGS"]
    most = 4 * max(tables()["tcuq_xlog2x_q15"])  # quarters of two neighbours
    yield sum_fits("entropy of all classes, or of a mixture", (0, most), classes, (16, 16), UINT32)
    shares = tables()["tcuq_share_q15"]
    fits = all(count * share <= 32768 for count, share in enumerate(shares)) and len(shares) > lags
    yield Tried("changed labels in Q15", lambda: fits)
    yield Tried("the table of shares", lambda: shares == stated_shares())
    outputs = shares[: limits["TCUQ_MAX_OUTPUTS"] + 1]
    jumps = [255 * count * share for count, share in enumerate(outputs)]
    yield Tried("how far outputs jump in Q12", lambda: max(jumps) >> 11 <= 4096)
    along = all(count * 32768 * share <= INT32[1] for count, share in enumerate(shares))
    yield Tried("projections of all lags, shared out", lambda: along)
    weight, apart, sum_w, total = z3.Ints("weight apart sum_w total")
    given = z3.And(
        within(weight, UINT16), within(apart, (0, 4096)), sum_w >= 0, sum_w + weight <= 32768,
        total >= 0, total <= 4096 * sum_w,
    )  # fmt: skip
    after = total + weight * apart
    claim = z3.And(after <= 4096 * (sum_w + weight), after + 2048 <= UINT32[1],
                   after + 2048 < 32769 * 4096)  # fmt: skip
    yield Lemma("divergence, by weights that sum to at most 2^15", given, claim)
    yield from _confidence(classes)
    blend, left, right = z3.Ints("blend left right")
    given = z3.And(within(blend, (0, 32768)), within(left, (0, 32768)), within(right, (0, 32768)))
    mixed = blend * left + (32768 - blend) * right
    claim = z3.And(mixed >= 0, mixed <= 2**30, mixed + 32768 <= UINT32[1])
    yield Lemma("a mixture of two shares in Q15", given, claim)


def _confidence(classes: int) -> Iterator[Statement]:
    total, part, one = z3.Ints("total part one")
    given = z3.And(total >= 1, total <= POSTERIOR_MOST * classes, part >= 0, part <= total,
                   one >= 0, one * total <= UINT32[1])  # fmt: skip
    yield Lemma("a share of a posterior's sum in Q32", given, within(part * one, UINT32))
    short = z3.Int("short")
    given = within(short, UINT32)
    yield Lemma("1 - confidence in Q24 and its floor", given, within(short / 2**8 + 168, UINT32))


def vector_lemmas(limits: Limits) -> Iterator[Statement]:
    """Yield lemmas on features: products, lengths, projection, whitening, distances."""
    count = limits["TCUQ_MAX_DIMENSIONS"]
    pair = product_range(INT8, INT8)
    yield sum_fits("product of two feature vectors", pair, count, (0, 0), INT32)
    bias = limits["TCUQ_MAX_BIAS"]
    yield sum_fits("projection of the widest features and the bias", pair,
                   limits["TCUQ_MAX_WIDTH"], (-bias, bias), INT32)  # fmt: skip
    offset = 64 * 128 * count
    yield sum_fits("a row of the whitening before its shift", INT16, count // 2,
                   (-offset, offset), INT32)  # fmt: skip
    along = product_range(WHITENED, WHITENED)
    yield sum_fits("whitened features times a mean", along, count, (0, 0), INT32)
    square, twice = (0, along[1]), (-2 * along[1], 2 * along[1])
    bracket = (square[0] + twice[0], square[1] + twice[1])
    yield sum_fits("a mean's square less twice that", bracket, count, (0, 0), INT32)
    gap = WHITENED[1] - WHITENED[0]
    yield sum_fits("squared distance under the whitening", (0, gap * gap), count, (0, 0), INT32)
    squared, product, other, a, b = z3.Reals("squared product other a b")
    given = z3.And(squared >= 0, other >= 0, product * product <= squared * other)
    claim = (product + a * b) ** 2 <= (squared + a * a) * (other + b * b)
    yield Lemma("Cauchy-Schwarz, from n to n + 1 features", given, claim)
    size, reciprocal = z3.Ints("size reciprocal")  # any 32 bits, shifted by 15
    given = z3.And(within(size, (INT32[0] // 2**15, INT32[1] // 2**15)),
                   within(reciprocal, (0, 32768)))  # fmt: skip
    yield Lemma("a product times a reciprocal length", given, within(size * reciprocal, INT32))
    given = z3.And(within(size, INT16), within(reciprocal, (0, 32768)))
    yield Lemma("its saturated form times another", given, within(size * reciprocal, INT32))
    square, twice_along, length, x, m, unit = z3.Ints("square twice_along length x m unit")
    distance = square - twice_along + length  # of the vectors' first features
    given = z3.And(distance >= 0, within(unit, (1, 1 << 24)))
    longer = (square + x * x) - (twice_along + 2 * x * m) + (length + m * m)
    claim = z3.And(longer >= 0, z3.Implies(distance <= INT32[1], within(distance + unit, UINT32)))
    yield Lemma("a distance by its parts, and its unit", given, claim)


def score_lemmas(limits: Limits) -> Iterator[Statement]:
    """Yield lemmas on the logit, and on surprise summed over terms."""
    weighted = product_range(INT16, UINT16)
    a, b = z3.Ints("a b")
    given = z3.And(within(a, INT16), within(b, UINT16))
    yield Lemma("a weight times its signal", given, within(a * b, INT32))
    shifted: Range = (weighted[0] // 2**4, weighted[1] // 2**4)  # by weight_shift - 1 >= 4
    bias = limits["TCUQ_MAX_BIAS"]
    yield sum_fits("logit of four signals and the bias", shifted, 4, (-bias, bias), INT32)
    value, point, slope = z3.Ints("value point slope")
    negated = (-INT16[1] - 1, -INT16[0])  # of either sign
    beyond = value - point
    given = z3.And(within(value, negated), within(point, INT16), beyond >= 0, within(slope, UINT16))
    claim = z3.And(within(beyond * slope, UINT32),
                   UINT16[1] + beyond * slope / 2**8 <= UINT32[1])  # fmt: skip
    yield Lemma("surprise beyond the last point", given, claim)
    rise, along = z3.Ints("rise along")
    given = z3.And(within(rise, UINT16), within(along, (0, INT16[1] - INT16[0])))
    yield Lemma("surprise between two points", given, within(rise * along, UINT32))
    full = 16384 * 16384  # cap_q10 times weight_q8, as tcuq_init admits them
    terms = limits["TCUQ_MAX_TERMS"]
    yield sum_fits("surprise of all terms", (0, full), terms, (0, 0), UINT32)
    total = z3.Int("total")
    given = z3.And(within(total, (0, full * terms)), within(a, (-bias, bias)))
    yield Lemma("a quarter of it and the bias", given, within(total / 4 + a, INT32))
    most = 16384 * 256 * terms  # TCUQ_MAX_BITS_Q10 times novelty_q8, as tcuq_init admits it
    recent, surprise = z3.Ints("recent surprise")
    given = z3.And(within(recent, (0, most)), within(surprise, (0, most)))
    mean_after = recent - recent / 32 + surprise / 32
    claim = z3.And(within(mean_after, (0, most)), within(surprise + most, UINT32))
    yield Lemma("a step's surprise and its mean lately", given, claim)
    mean, now, part, half = z3.Ints("mean now part half")
    gap = now * 256 - mean
    toward = z3.And(z3.Implies(gap >= 0, z3.And(part >= 0, part <= gap)),
                    z3.Implies(gap < 0, z3.And(part < 0, part >= gap)))  # fmt: skip
    given = z3.And(within(mean, (-(2**23), 2**23 - 1)), within(now, INT16), toward)
    claim = z3.And(within(gap, INT32), within(mean + part, (-(2**23), 2**23 - 1)))
    yield Lemma("a smoothed term stays in 24 bits", given, claim)
    given = z3.And(within(mean, (-(2**23), 2**23 - 1)), half * 256 <= mean, mean < half * 256 + 256)
    yield Lemma("a smoothed term as a signal", given, within(half, INT16))


def decision_lemmas(limits: Limits) -> Iterator[Statement]:
    """Yield lemmas that the ledger and the token bucket keep their bounds."""
    levels, step_most = limits["TCUQ_RISK_LEVELS"], limits["TCUQ_MAX_STEP"]
    ledger, risk, step, alpha = z3.Ints("ledger risk step alpha")
    low, high = -step * 65536, (levels + step) * 65536
    given = z3.And(within(risk, (0, levels)), within(step, (1, step_most)),
                   within(alpha, (1, 65535)), ledger >= low, ledger <= high)  # fmt: skip
    up, down = step * (65536 - alpha), step * alpha
    after = z3.If(risk * 65536 >= ledger, ledger + up, ledger - down)
    claim = z3.And(after >= low, after <= high, within(up, INT32), within(down, INT32),
                   within(low, INT32), within(high, INT32))  # fmt: skip
    yield Lemma("the ledger's bounds", given, claim)
    tokens, rate, burst = z3.Ints("tokens rate burst")
    token = limits["TCUQ_TOKEN"]
    given = z3.And(within(burst, (0, INT32[1])), within(tokens, UINT32), tokens <= burst,
                   within(rate, (0, token)))  # fmt: skip
    filled = z3.If(tokens + rate > burst, burst, tokens + rate)
    spent = z3.If(filled >= token, filled - token, filled)
    claim = z3.And(within(tokens + rate, UINT32), within(spent, UINT32), spent <= burst)
    yield Lemma("the token bucket's bounds", given, claim)


def product_lemmas() -> Iterator[Statement]:
    """Yield lemmas of the contracts about products, which WP's provers do not find."""
    x, y, z, m, share, n = z3.Ints("x y z m share n")
    one = (0, 32768)
    given = z3.And(within(x, one), within(y, one), within(z, one))
    claim = z3.And(x * y >= 0, (one[1] - x) * z >= 0, x * y + (one[1] - x) * z <= 2**30)
    yield Lemma("cells_mixed", given, claim)
    given = z3.And(x >= 0, x <= y, y > 0, m >= 0, share * y <= m, m < share * y + y)
    yield Lemma("cells_portion", given, z3.And(x * share >= 0, x * share <= m))
    claim = z3.And(2 * x * (x + 1) >= 0, 2 * x * (x + 1) + 4 * (x + 1) <= 2 * n * (n + 1))
    yield Lemma("triangle_within", z3.And(x >= 0, x < n), claim)


if __name__ == "__main__":
    check_all(lemmas())
