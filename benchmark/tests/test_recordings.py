# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tcuq_benchmark import recordings
from tcuq_benchmark.corruptions import inertial
from tcuq_benchmark.data import hapt
from tcuq_benchmark.data.samples import Recording
from tcuq_benchmark.streams import in_order

Load = Callable[[str], Any]


def counting_recording(name: str, person: int, n: int) -> Recording:
    """Return a recording that counts its samples, labelled by thousands."""
    signal = np.repeat(np.arange(n, dtype=np.float32)[:, None], 6, axis=1)
    return Recording(name, person, signal, np.arange(n) // 1_000)


RECORDINGS = (
    counting_recording("a", 1, 2_000),
    counting_recording("b", 1, 1_500),
    counting_recording("c", 2, 640),
)


def test_windows_stay_inside_a_recording() -> None:
    """Each window counts on without a gap; its label is its centre's; starts are recordings'."""
    cut = recordings.windows(RECORDINGS, ("x", "y"))
    assert cut.samples.x.shape == (30 + 22 + 9, 128, 6)
    assert cut.samples.x.dtype == np.float32
    assert (np.diff(cut.samples.x[:, :, 0], axis=1) == 1).all()
    np.testing.assert_array_equal(cut.samples.y, cut.samples.x[:, 64, 0] // 1_000)
    assert cut.starts.tolist() == [0, 30, 52]
    assert not cut.shifted.any()


def test_people_can_be_joined() -> None:
    """History may continue from one series of a person to the next."""
    assert recordings.windows(RECORDINGS, ("x", "y"), join_people=True).starts.tolist() == [0, 52]


def test_faults_act_on_their_spans_alone() -> None:
    """Two faults applied to the recordings: samples outside their spans are unchanged."""
    faulty, active = recordings.with_faults(
        RECORDINGS, [("gain", 3), ("bias", 1)], inertial.SUITE, 0, clean=1_000, corrupted=500
    )
    marks = np.concatenate(active)
    assert np.flatnonzero(marks).tolist() == [*range(1_000, 1_500), *range(2_500, 3_000)]
    before = np.concatenate([r.signal for r in RECORDINGS])
    after = np.concatenate([r.signal for r in faulty])
    np.testing.assert_array_equal(after[~marks], before[~marks])
    np.testing.assert_allclose(after[1_000:1_500], 1.6 * before[1_000:1_500], rtol=1e-6)
    assert [len(r.label) for r in faulty] == [2_000, 1_500, 640]
    cut = recordings.windows(faulty, ("x", "y"), active)
    assert cut.shifted.any()
    assert not cut.shifted[0]
    with_marks = in_order(cut.samples, starts=cut.starts, shifted=cut.shifted)
    plain = in_order(recordings.windows(RECORDINGS, ("x", "y")).samples, starts=cut.starts)
    assert with_marks.shifted.sum() == cut.shifted.sum()
    assert with_marks.settings != plain.settings  # else a cache would mix them up


def test_too_many_faults_are_refused() -> None:
    """The error for faults that do not fit names the length they need."""
    with pytest.raises(ValueError, match="must have 5000 samples, got 4140"):
        recordings.with_faults(
            RECORDINGS, [("gain", 1)] * 2, inertial.SUITE, 0, clean=1_000, corrupted=1_000
        )


def test_real_recordings_dwell_by_themselves(load: Load) -> None:
    """A user keeps an activity for many windows."""
    cut = recordings.windows(load("hapt")["test"], hapt.CLASSES)
    assert len(cut.starts) == 11
    known = cut.samples.y[cut.samples.y >= 0]
    assert len(known) / (1 + np.count_nonzero(np.diff(known))) > 5
