# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmark import recordings
from benchmark.corruptions import inertial
from benchmark.data import hapt
from benchmark.data.samples import Recording
from benchmark.streams import in_order

Load = Callable[[str], Any]


def made(name: str, person: int, n: int) -> Recording:
    """A recording that counts its samples, labelled by thousands."""
    signal = np.repeat(np.arange(n, dtype=np.float32)[:, None], 6, axis=1)
    return Recording(name, person, signal, np.arange(n) // 1_000)


TWO = (made("a", 1, 2_000), made("b", 1, 1_500), made("c", 2, 640))


def test_windows_stay_inside_a_recording() -> None:
    """Each window counts on without a gap; its label is its centre's; starts are recordings'."""
    cut = recordings.windows(TWO, ("x", "y"))
    assert cut.samples.x.shape == (30 + 22 + 9, 128, 6)
    assert cut.samples.x.dtype == np.float32
    assert (np.diff(cut.samples.x[:, :, 0], axis=1) == 1).all()
    np.testing.assert_array_equal(cut.samples.y, cut.samples.x[:, 64, 0] // 1_000)
    assert cut.starts.tolist() == [0, 30, 52]
    assert not cut.shifted.any()


def test_people_can_be_joined() -> None:
    """History may go on from one series of a person to the next."""
    assert recordings.windows(TWO, ("x", "y"), join_people=True).starts.tolist() == [0, 52]


def test_faults_act_on_their_spans_alone() -> None:
    """Two faults laid over the recordings: samples outside their spans are untouched."""
    laid, active = recordings.faulted(
        TWO, [("gain", 3), ("bias", 1)], inertial.SUITE, 0, clean=1_000, corrupted=500
    )
    marks = np.concatenate(active)
    assert np.flatnonzero(marks).tolist() == [*range(1_000, 1_500), *range(2_500, 3_000)]
    before = np.concatenate([r.signal for r in TWO])
    after = np.concatenate([r.signal for r in laid])
    np.testing.assert_array_equal(after[~marks], before[~marks])
    np.testing.assert_allclose(after[1_000:1_500], 1.6 * before[1_000:1_500], rtol=1e-6)
    assert [len(r.label) for r in laid] == [2_000, 1_500, 640]
    cut = recordings.windows(laid, ("x", "y"), active)
    assert cut.shifted.any()
    assert not cut.shifted[0]
    faulty = in_order(cut.samples, starts=cut.starts, shifted=cut.shifted)
    plain = in_order(recordings.windows(TWO, ("x", "y")).samples, starts=cut.starts)
    assert faulty.shifted.sum() == cut.shifted.sum()
    assert faulty.settings != plain.settings  # or a cache would take one for the other


def test_too_many_faults_are_refused() -> None:
    """Faults that do not fit are said with the length they need."""
    with pytest.raises(ValueError, match="must have 5000 samples, got 4140"):
        recordings.faulted(TWO, [("gain", 1)] * 2, inertial.SUITE, 0, clean=1_000, corrupted=1_000)


def test_real_recordings_dwell_by_themselves(load: Load) -> None:
    """A user keeps an activity for many windows."""
    cut = recordings.windows(load("hapt")["test"], hapt.CLASSES)
    assert len(cut.starts) == 11
    known = cut.samples.y[cut.samples.y >= 0]
    assert len(known) / (1 + np.count_nonzero(np.diff(known))) > 5
