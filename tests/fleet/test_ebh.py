# SPDX-License-Identifier: Apache-2.0
"""e-BH by counting is e-BH by sorting, to the last device; groups' e-values keep their promise."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcuq.errors import InputError
from tcuq.fleet.judge.ebh import Discovery, discover, discover_each, reaches
from tcuq.fleet.judge.groups import SMALLEST, judge_groups
from tcuq.fleet.judge.tally import SILENT, YOUNG, Tally

LEVELS = st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.25, 0.3, 0.5, 0.99])
# Whole bits make exact ties with m / (level * k) where m and k are powers of two.
EVIDENCE = st.one_of(st.integers(-400, 3000), st.integers(-2, 40).map(lambda bits: 256 * bits))


def by_sorting(evidence_q8: list[int], tested: int, level: float) -> Discovery:
    """The definition: sorted, and compared as 256th powers of fractions."""
    exact = Fraction(str(level))
    found = Discovery(0, None)
    for rank, value in enumerate(sorted(evidence_q8, reverse=True), 1):
        if Fraction(2) ** value >= (tested / (exact * rank)) ** 256:
            found = Discovery(rank, value)
    return found


@given(st.lists(EVIDENCE, max_size=40), st.integers(0, 200), LEVELS)
def test_counting_is_sorting(evidence_q8: list[int], others: int, level: float) -> None:
    """The same k and the same cut-off as the definition, in exact arithmetic."""
    tested = len(evidence_q8) + others
    counted = Counter(evidence_q8)
    found = discover(np.array(list(counted)), np.array(list(counted.values())), tested, level)
    assert found == by_sorting(evidence_q8, tested, level)


@given(st.lists(st.tuples(st.integers(0, 3), EVIDENCE, st.integers(0, 5)), max_size=40), LEVELS)
def test_parts_are_discovered_as_if_alone(rows: list[tuple[int, int, int]], level: float) -> None:
    """Many at once, and each part has what it would have by itself; rows of none change nothing."""
    part, evidence_q8, counts = np.array(rows, np.int64).reshape(-1, 3).T
    tested = np.array([10 + counts[part == i].sum() for i in range(4)])
    found = discover_each(part, evidence_q8, counts, tested, level)
    for i in range(4):
        own = np.repeat(evidence_q8[part == i], counts[part == i]).tolist()
        assert found[i] == by_sorting(own, int(tested[i]), level)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 3))
def test_exact_ties_are_discovered(tested_log2: int, rank_log2: int, level_log2: int) -> None:
    """An e-value of m / (level * k) is enough, and 1/256 bit less is not."""
    tested, rank = 2 ** (tested_log2 + rank_log2), 2**rank_log2
    needed = 256 * (tested_log2 + level_log2)
    for evidence, found in ((needed, Discovery(rank, needed)), (needed - 1, Discovery(0, None))):
        counts = np.array([rank])
        assert discover(np.array([evidence]), counts, tested, 0.5**level_log2) == found


def test_doubles_are_not_asked_where_they_cannot_tell() -> None:
    """2^(q/256) against numbers beyond a double's precision."""
    big = 2**60
    assert reaches(256 * 61, big, 0.5, 1)
    assert not reaches(256 * 61, big + 1, 0.5, 1)
    assert discover(np.array([256 * 61]), np.array([1]), big + 1, 0.5) == Discovery(0, None)


def test_nothing_is_discovered_among_nothing() -> None:
    """An empty fleet, or one without evidence."""
    nothing = np.array([], np.int64)
    assert discover(nothing, nothing, 0, 0.1) == Discovery(0, None)
    assert discover(np.array([0, -5]), np.array([10, 10]), 20, 0.99) == Discovery(0, None)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, float("nan")])
def test_a_level_is_a_share(level: float) -> None:
    """Outside (0, 1) it is refused by name."""
    with pytest.raises(InputError, match="level must lie in"):
        discover(np.array([5]), np.array([1]), 1, level)


def test_more_than_tested_is_refused() -> None:
    """A count that cannot be."""
    with pytest.raises(InputError, match="tested must be at least the 3 counted, got 2"):
        discover(np.array([5]), np.array([3]), 2, 0.1)


def fleet(*cohorts: tuple[int, int, int, dict[int, int]]) -> Tally:
    """A tally from cohorts: profile, firmware, site, devices by evidence."""
    rows = [(p, f, s, e, n) for p, f, s, counts in cohorts for e, n in counts.items()]
    return Tally(np.array(rows, np.int64))


def named(
    tally: Tally, **options: frozenset[tuple[int | None, int | None, int | None]]
) -> set[object]:
    """The groups that are named."""
    groups = judge_groups(tally, 0.1, 0.1, **options)
    return {name for name, flag in zip(groups.names, groups.named, strict=True) if flag}


@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=30),
    st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]),
)
def test_a_groups_e_value_is_the_mean_of_the_smallest(evidence: list[int], share: float) -> None:
    """By the definition, one device at a time; evidence of 0 bits counts as an e-value of 0."""
    tally = fleet((1, 1, 1, dict(Counter(evidence))))
    drifting = max(1, int(np.ceil(share * len(evidence) - 1e-9)))
    smallest = sorted(evidence)[: len(evidence) - drifting + 1]
    mean = sum(2 ** (value / 256) if value else 0.0 for value in smallest) / len(smallest)
    expected = np.log2(mean) if mean else -np.inf
    assert tally.bits(share, np.array([True])) == pytest.approx([expected] * 4)


@pytest.mark.parametrize("law", ["independent", "shared", "exclusive"])
def test_a_groups_e_value_has_mean_at_most_one_when_too_few_drift(law: str) -> None:
    """Three of twenty drift without bound and the share is four: over all that the others can do.

    Each of the others has e = 32 with probability 1/32, else 0.
    """
    others, drifting, p = 17, 3, 1 / 32
    chances = {  # of how many of the others are lucky
        "independent": [math.comb(others, k) * p**k * (1 - p) ** (others - k) for k in range(18)],
        "shared": [1 - p, *[0.0] * (others - 1), p],
        "exclusive": [1 - others * p, others * p],
    }
    mean = 0.0
    for lucky, chance in enumerate(chances[law]):
        tally = fleet((1, 1, 1, {0: others - lucky, 5 * 256: lucky, 100 * 256: drifting}))
        mean += chance * 2 ** float(tally.bits(0.2, np.array([True]))[0])
    assert mean <= 1 + 1e-9


def test_one_device_cannot_convict_its_group() -> None:
    """A huge e-value raises the average; it does not make a tenth of the group drift."""
    tally = fleet((1, 1, 1, {0: 999, 120 * 256: 1}), (1, 2, 1, {0: 1000}))
    groups = judge_groups(tally, 0.1, 0.1)
    assert not groups.drifted.any()
    assert groups.discovered.sum() == 4  # once for each kind of group
    assert judge_groups(tally, 0.1, 0.0).drifted.any()  # the plain average


def test_a_broken_firmware_alone_is_named() -> None:
    """Though profile and sites drift by the same devices."""
    fine, broken = {0: 1000}, {0: 300, 40 * 256: 700}
    tally = fleet(*((1, f, s, broken if f == 8 else fine) for f in (7, 8, 9) for s in (1, 2, 3)))
    groups = judge_groups(tally, 0.1, 0.1)
    assert groups.drifted.sum() == 1 + 1 + 3 + 3  # profile, firmware 8, its sites, its cohorts
    assert named(tally) == {(None, 8, None)}


def test_a_broken_cohort_alone_is_named() -> None:
    """One firmware at one site; and a second trouble elsewhere is named beside it."""
    cohorts = [[1, f, s, {0: 1000}] for f in (7, 8, 9) for s in (1, 2, 3)]
    cohorts[4][3] = {0: 100, 40 * 256: 900}
    assert named(fleet(*map(tuple, cohorts))) == {(1, 8, 2)}  # type: ignore[arg-type]
    for i in (0, 3, 6):
        cohorts[i][3] = {0: 100, 40 * 256: 900}
    assert named(fleet(*map(tuple, cohorts))) == {(1, 8, 2), (None, None, 1)}  # type: ignore[arg-type]


def test_a_group_with_an_alarm_stays_named() -> None:
    """The name does not jump between groups that say nearly the same."""
    tally = fleet((1, 7, 1, {0: 50, 40 * 256: 950}), (1, 7, 2, {0: 100, 40 * 256: 10}))
    assert named(tally) == {(None, None, 1)}
    assert named(tally, standing=frozenset({(1, 7, 1)})) == {(1, 7, 1)}


def test_small_groups_and_those_that_cannot_be_judged_are_left_out() -> None:
    """Fewer than twenty that report and have closed an epoch."""
    few = {40 * 256: SMALLEST - 1, SILENT: 500, YOUNG: 500}
    groups = judge_groups(fleet((1, 1, 1, few)), 0.1, 0.1)
    assert not groups.drifted.any()
    assert groups.judgeable.tolist() == [SMALLEST - 1] * 4
    assert groups.devices.tolist() == [1000 + SMALLEST - 1] * 4


def test_an_outage_is_named_once() -> None:
    """A site that stopped reporting, not each of its cohorts."""
    tally = fleet(
        *((1, f, s, {0: 100, SILENT: 900 if s == 2 else 3}) for f in (7, 8) for s in (1, 2, 3))
    )
    groups = judge_groups(tally, 0.1, 0.1)
    assert [n for n, o in zip(groups.names, groups.outages, strict=True) if o] == [(None, None, 2)]


def test_a_group_has_an_error_rate_of_its_own() -> None:
    """Evidence that is not enough in the whole fleet may be enough where it is."""
    tally = fleet((1, 1, 1, {0: 99, 12 * 256: 1}), (1, 1, 2, {0: 100_000}))
    groups = judge_groups(tally, 0.1, 0.1)
    assert groups.discovered.sum() == 0
    own = dict(zip(groups.names, groups.own, strict=True))
    assert own[None, None, 1] == own[1, 1, 1] == Discovery(1, 12 * 256)
    assert own[None, None, 2] == own[1, None, None] == Discovery(0, None)
