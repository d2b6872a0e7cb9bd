# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from tcuq_benchmark.data.gas_drift import BATCHES, part_of_each
from tcuq_benchmark.data.idx import image_parts
from tcuq_benchmark.data.samples import group_split, part_sizes, random_split


def test_random_splits_are_disjoint_and_complete() -> None:
    """Every index is in one piece, and the same seed gives the same split."""
    pieces = random_split(100, [50, 30, 20])
    assert [len(piece) for piece in pieces] == [50, 30, 20]
    assert sorted(np.concatenate(pieces)) == list(range(100))
    for again, piece in zip(random_split(100, [50, 30, 20]), pieces, strict=True):
        np.testing.assert_array_equal(again, piece)


def test_sizes_must_sum_to_the_number_of_samples() -> None:
    """Sizes with another sum are refused."""
    with pytest.raises(ValueError, match="sizes must sum to 5, got 6"):
        random_split(5, [3, 3])


def test_groups_stay_whole() -> None:
    """A person is in one part."""
    group = np.repeat(np.arange(10), 7)
    parts = group_split(group, {"train": 5, "calibration": 2, "development": 1, "test": 2})
    people = [set(group[rows].tolist()) for rows in parts.values()]
    assert [len(who) for who in people] == [5, 2, 1, 2]
    assert len(set().union(*people)) == 10


@pytest.mark.parametrize("n", [7, 10, 586])
def test_part_sizes_sum_to_the_number_of_groups(n: int) -> None:
    """Rounding loses no group."""
    sizes = part_sizes(n, {"train": 0.5, "calibration": 0.2, "development": 0.1, "test": 0.2})
    assert sum(sizes.values()) == n


def test_official_test_images_stay_out_of_training() -> None:
    """Parts are disjoint; the official test set is halved into development and test."""
    x = np.arange(140, dtype=np.uint8).reshape(140, 1, 1)
    y = np.arange(140, dtype=np.uint8) % 10
    parts = image_parts((x[:100], y[:100]), (x[100:], y[100:]), tuple("0123456789"), 20)
    sizes = {part: len(samples) for part, samples in parts.items()}
    assert sizes == {"train": 80, "calibration": 20, "development": 20, "test": 20}
    rows = np.concatenate([samples.row for samples in parts.values()])
    assert sorted(rows) == list(range(140))
    assert parts["test"].row.min() >= 100
    assert parts["train"].row.max() < 100
    for samples in parts.values():
        np.testing.assert_array_equal(samples.x[:, 0, 0], samples.row)


def test_gas_is_split_by_time() -> None:
    """Later batches are in development or test only; blocks of rows stay together."""
    batch = np.repeat(BATCHES, 80)
    owner = part_of_each(batch)
    assert set(owner[batch <= 2].tolist()) == {0, 1, 2, 3}
    assert set(owner[batch == 3].tolist()) == {2}
    assert set(owner[batch > 3].tolist()) == {3}
    early = owner[batch <= 2].reshape(-1, 8)
    assert (early == early[:, :1]).all()
