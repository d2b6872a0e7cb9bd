# SPDX-License-Identifier: Apache-2.0
"""Groups: their e-values, which of them drift, and which are named."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcuq_fleet.judge.ebh import Discovery
from tcuq_fleet.judge.evidence_counts import SILENT, YOUNG, Array, EvidenceCounts, GroupKey
from tcuq_fleet.judge.groups import MIN_DEVICES, judge_groups


def count(
    *cohorts: tuple[int, int, int, dict[int, int]], owners: dict[int, int] | None = None
) -> EvidenceCounts:
    """Create counts from cohorts: profile, firmware, site, devices by evidence."""
    rows = [(p, f, s, e, n) for p, f, s, by_evidence in cohorts for e, n in by_evidence.items()]
    return EvidenceCounts(np.array(rows, np.int64), owners)


def bits(counts: EvidenceCounts, share: float) -> Array:
    """Return log2 of the e-value of every group of one cohort."""
    return counts.select(np.ones(len(counts.groups), np.bool_)).bits(share, np.array([True]))


def named(counts: EvidenceCounts, **options: frozenset[GroupKey]) -> set[GroupKey]:
    """Return the groups that are named."""
    groups = judge_groups(counts, 0.1, 0.1, **options)
    return {key for key, flag in zip(groups.keys, groups.named, strict=True) if flag}


@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=30),
    st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]),
)
def test_a_groups_e_value_is_the_mean_of_the_smallest(evidence: list[int], share: float) -> None:
    """A group's e-value equals its definition; evidence of 0 bits counts as an e-value of 0."""
    counts = count((1, 1, 1, dict(Counter(evidence))))
    drifting = max(1, int(np.ceil(share * len(evidence) - 1e-9)))
    smallest = sorted(evidence)[: len(evidence) - drifting + 1]
    mean = sum(2 ** (value / 256) if value else 0.0 for value in smallest) / len(smallest)
    expected = np.log2(mean) if mean else -np.inf
    assert bits(counts, share) == pytest.approx([expected] * 4)


@pytest.mark.parametrize("dependence", ["independent", "shared", "exclusive"])
def test_a_groups_e_value_has_mean_at_most_one_when_too_few_drift(dependence: str) -> None:
    """With three of twenty devices drifting and a share of four, the mean is at most one.

    Each of the others has e = 32 with probability 1/32, else 0.
    """
    others, drifting, p = 17, 3, 1 / 32
    probabilities = {  # that k of the others have e = 32
        "independent": [math.comb(others, k) * p**k * (1 - p) ** (others - k) for k in range(18)],
        "shared": [1 - p, *[0.0] * (others - 1), p],
        "exclusive": [1 - others * p, others * p],
    }
    mean = 0.0
    for lucky, probability in enumerate(probabilities[dependence]):
        counts = count((1, 1, 1, {0: others - lucky, 5 * 256: lucky, 100 * 256: drifting}))
        mean += probability * 2 ** float(bits(counts, 0.2)[0])
    assert mean <= 1 + 1e-9


def test_one_device_cannot_make_its_group_drift() -> None:
    """One huge e-value raises the plain average, but not the e-value against a tenth."""
    counts = count((1, 1, 1, {0: 999, 120 * 256: 1}), (1, 2, 1, {0: 1000}))
    groups = judge_groups(counts, 0.1, 0.1)
    assert not groups.drifted.any()
    assert groups.discovered.sum() == 4  # once per kind of group
    assert judge_groups(counts, 0.1, 0.0).drifted.any()  # the plain average


def test_a_broken_firmware_alone_is_named() -> None:
    """Only the broken firmware is named, although its profile and sites drift as well."""
    fine, broken = {0: 1000}, {0: 300, 40 * 256: 700}
    counts = count(*((1, f, s, broken if f == 8 else fine) for f in (7, 8, 9) for s in (1, 2, 3)))
    groups = judge_groups(counts, 0.1, 0.1)
    assert groups.drifted.sum() == 1 + 1 + 3 + 3  # profile, firmware 8, its sites, its cohorts
    assert named(counts) == {(None, 8, None, 0)}


def test_a_broken_cohort_alone_is_named() -> None:
    """One firmware at one site is named, and a second fault elsewhere beside it."""
    cohorts = [[1, f, s, {0: 1000}] for f in (7, 8, 9) for s in (1, 2, 3)]
    cohorts[4][3] = {0: 100, 40 * 256: 900}
    assert named(count(*map(tuple, cohorts))) == {(1, 8, 2, 0)}  # type: ignore[arg-type]
    for i in (0, 3, 6):
        cohorts[i][3] = {0: 100, 40 * 256: 900}
    assert named(count(*map(tuple, cohorts))) == {(1, 8, 2, 0), (None, None, 1, 0)}  # type: ignore[arg-type]


def test_a_group_with_an_alarm_stays_named() -> None:
    """A group with an active alarm is named rather than a similar group."""
    counts = count((1, 7, 1, {0: 50, 40 * 256: 950}), (1, 7, 2, {0: 100, 40 * 256: 10}))
    assert named(counts) == {(None, None, 1, 0)}
    assert named(counts, active=frozenset({(1, 7, 1, 0)})) == {(1, 7, 1, 0)}


def test_groups_with_few_judgeable_devices_do_not_drift() -> None:
    """A group with fewer than twenty judgeable devices does not drift."""
    few = {40 * 256: MIN_DEVICES - 1, SILENT: 500, YOUNG: 500}
    groups = judge_groups(count((1, 1, 1, few)), 0.1, 0.1)
    assert not groups.drifted.any()
    assert groups.judgeable.tolist() == [MIN_DEVICES - 1] * 4
    assert groups.devices.tolist() == [1000 + MIN_DEVICES - 1] * 4


def test_another_owners_groups_change_no_group_of_an_owner() -> None:
    """Named groups and outages of an owner are the same beside any devices of another."""
    broken = {0: 30, 12 * 256: 70}
    cohorts = [(1, f, s, broken if f == 8 else {0: 100, SILENT: 60 * (s == 2)}) for f in (7, 8)
        for s in (1, 2, 3)]  # fmt: skip
    others = [(1, f, s, {0: 9000, 40 * 256: 9000, SILENT: 9000}) for f in (7, 8) for s in (4, 5)]

    def of_first(*more: tuple[int, int, int, dict[int, int]]) -> set[tuple[GroupKey, bool, bool]]:
        rows = count(*cohorts, *more, owners={1: 1, 2: 1, 3: 1, 4: 2, 5: 2})
        groups = judge_groups(rows, 0.1, 0.1)
        flags = zip(groups.keys, groups.named.tolist(), groups.outages.tolist(), strict=True)
        return {row for row in flags if row[0][3] == 1}

    alone = of_first()
    assert ((None, 8, None, 1), True, False) in alone
    assert of_first(*others) == alone


def test_an_outage_is_named_once() -> None:
    """A silent site is one outage, and its cohorts are none."""
    counts = count(
        *((1, f, s, {0: 100, SILENT: 900 if s == 2 else 3}) for f in (7, 8) for s in (1, 2, 3))
    )
    groups = judge_groups(counts, 0.1, 0.1)
    assert [key for key, flag in zip(groups.keys, groups.outages, strict=True) if flag] == [
        (None, None, 2, 0)
    ]


def test_a_group_has_an_error_rate_of_its_own() -> None:
    """Evidence below the fleet's cut-off may be discovered within its group."""
    counts = count((1, 1, 1, {0: 99, 12 * 256: 1}), (1, 1, 2, {0: 100_000}))
    groups = judge_groups(counts, 0.1, 0.1)
    assert groups.discovered.sum() == 0
    own = dict(zip(groups.keys, groups.own, strict=True))
    assert own[None, None, 1, 0] == own[1, 1, 1, 0] == Discovery(1, 12 * 256)
    assert own[None, None, 2, 0] == own[1, None, None, 0] == Discovery(0, None)
