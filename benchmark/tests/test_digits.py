# SPDX-License-Identifier: Apache-2.0
"""The identity of the digits, which have no files, and a fault of their camera."""

import numpy as np
import pytest

from tcuq_benchmark.corruptions import small_image
from tcuq_benchmark.data import digits
from tcuq_benchmark.data.files import DataDamagedError, manifest
from tcuq_benchmark.data.identity import data_sha256


def test_a_set_without_files_is_known_by_its_arrays() -> None:
    """Its hash is the loader's; that of other sets is the manifest's."""
    assert data_sha256("digits") == digits.SHA256
    assert data_sha256("mnist") == manifest()["mnist"].sha256


def test_other_digits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of scikit-learn with other images is not mistaken for these."""
    monkeypatch.setattr(digits, "SHA256", "0")
    with pytest.raises(DataDamagedError, match="must have SHA-256 0, got"):
        digits.load()


def test_readings_stay_in_the_range_of_the_camera() -> None:
    """No fault reads below 0 or above 16."""
    x = digits.load()["development"].x
    for fault in small_image.SUITE.values():
        faulty = fault(x, 5, np.random.default_rng(0))
        assert 0 <= faulty.min() <= faulty.max() <= 16


def test_one_pixel_to_the_right() -> None:
    """At severity 3 every column has the values of its left neighbour."""
    x = digits.load()["development"].x
    moved = small_image.SUITE["moved"](x, 3, np.random.default_rng(0))
    np.testing.assert_allclose(moved[:, :, 1:], x[:, :, :-1], atol=1e-5)
    assert (moved[:, :, 0] == 0).all()
