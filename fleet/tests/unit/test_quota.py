# SPDX-License-Identifier: Apache-2.0
"""Quotas are exact: nobody's messages count for anybody else."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tcuq_fleet.ingest.quota import HOUR_S, Quota


@given(st.lists(st.lists(st.integers(0, 9).map(lambda n: n * 2**60), max_size=40), max_size=6))
def test_the_quota_counts_as_a_dictionary_does(batches: list[list[int]]) -> None:
    """Whatever the order and the repetitions, a sender is refused from its fourth message on."""
    quota, counts = Quota(), dict[int, int]()
    for batch in batches:
        for over, sender in zip(
            quota.exceeds(np.array(batch, np.uint64), 3, 0), batch, strict=True
        ):
            counts[sender] = counts.get(sender, 0) + 1
            assert over == (counts[sender] > 3)


def test_no_sender_of_many_is_refused_for_another() -> None:
    """Of 300,000 senders none is above a quota of one message; each one's second message is."""
    quota = Quota()
    senders = np.random.default_rng(1).permutation(300_000).astype(np.uint64) << np.uint64(20)
    batches = np.array_split(senders, 20)
    assert not any(quota.exceeds(batch, 1, 0).any() for batch in batches)
    assert all(quota.exceeds(batch, 1, 0).all() for batch in batches)
    assert not quota.exceeds(senders[:10], 1, HOUR_S).any()


def test_the_memory_is_bounded_and_full_tables_refuse_nobody_new() -> None:
    """Senders beyond the most are not counted; those that are counted already stay limited."""
    quota = Quota(max_senders=1000)
    known = np.arange(1000, dtype=np.uint64)
    assert not quota.exceeds(known, 2, 0).any()
    for first in range(1000, 50_000, 1000):
        assert not quota.exceeds(known + np.uint64(first), 1, 0).any()
    assert not quota.exceeds(known, 2, 0).any()
    assert quota.exceeds(known, 2, 0).all()
