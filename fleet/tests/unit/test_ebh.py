# SPDX-License-Identifier: Apache-2.0
"""e-BH by counting equals e-BH by sorting, in exact arithmetic."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcuq.errors import InputError
from tcuq_fleet.judge.ebh import Discovery, discover, discover_each, reaches

LEVELS = st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.25, 0.3, 0.5, 0.99])
# Whole bits make exact ties with m / (level * k) where m and k are powers of two.
EVIDENCE = st.one_of(st.integers(-400, 3000), st.integers(-2, 40).map(lambda bits: 256 * bits))


def by_sorting(evidence_q8: list[int], tested: int, level: float) -> Discovery:
    """Apply the definition: sort, and compare 256th powers of fractions."""
    exact = Fraction(str(level))
    discovery = Discovery(0, None)
    for rank, value in enumerate(sorted(evidence_q8, reverse=True), 1):
        if Fraction(2) ** value >= (tested / (exact * rank)) ** 256:
            discovery = Discovery(rank, value)
    return discovery


@given(st.lists(EVIDENCE, max_size=40), st.integers(0, 200), LEVELS)
def test_counting_is_sorting(evidence_q8: list[int], others: int, level: float) -> None:
    """Counting gives the same k and cut-off as the definition."""
    tested = len(evidence_q8) + others
    counts = Counter(evidence_q8)
    discovery = discover(np.array(list(counts)), np.array(list(counts.values())), tested, level)
    assert discovery == by_sorting(evidence_q8, tested, level)


@given(st.lists(st.tuples(st.integers(0, 3), EVIDENCE, st.integers(0, 5)), max_size=40), LEVELS)
def test_parts_are_discovered_as_if_alone(rows: list[tuple[int, int, int]], level: float) -> None:
    """Each part of a joint e-BH has the discoveries of its own e-BH."""
    part, evidence_q8, counts = np.array(rows, np.int64).reshape(-1, 3).T
    tested = np.array([10 + counts[part == i].sum() for i in range(4)])
    discoveries = discover_each(part, evidence_q8, counts, tested, level)
    for i in range(4):
        own = np.repeat(evidence_q8[part == i], counts[part == i]).tolist()
        assert discoveries[i] == by_sorting(own, int(tested[i]), level)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 3))
def test_exact_ties_are_discovered(tested_log2: int, rank_log2: int, level_log2: int) -> None:
    """An e-value of m / (level * k) suffices, and 1/256 bit less does not."""
    tested, rank = 2 ** (tested_log2 + rank_log2), 2**rank_log2
    needed = 256 * (tested_log2 + level_log2)
    for evidence, expected in ((needed, Discovery(rank, needed)), (needed - 1, Discovery(0, None))):
        counts = np.array([rank])
        assert discover(np.array([evidence]), counts, tested, 0.5**level_log2) == expected


def test_close_comparisons_are_exact() -> None:
    """2^(q/256) is compared exactly with numbers beyond a double's precision."""
    big = 2**60
    assert reaches(256 * 61, big, 0.5, 1)
    assert not reaches(256 * 61, big + 1, 0.5, 1)
    assert discover(np.array([256 * 61]), np.array([1]), big + 1, 0.5) == Discovery(0, None)


def test_nothing_is_discovered_without_evidence() -> None:
    """An empty fleet and a fleet without evidence have no discoveries."""
    empty = np.array([], np.int64)
    assert discover(empty, empty, 0, 0.1) == Discovery(0, None)
    assert discover(np.array([0, -5]), np.array([10, 10]), 20, 0.99) == Discovery(0, None)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, float("nan")])
def test_a_level_is_a_share(level: float) -> None:
    """A level outside (0, 1) is refused by its name."""
    with pytest.raises(InputError, match="level must lie in"):
        discover(np.array([5]), np.array([1]), 1, level)


def test_more_than_tested_is_refused() -> None:
    """Counts above the number tested are refused."""
    with pytest.raises(InputError, match="tested must be at least the 3 counted, got 2"):
        discover(np.array([5]), np.array([3]), 2, 0.1)
