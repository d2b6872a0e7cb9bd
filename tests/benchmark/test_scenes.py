# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmark.scenes.tasks import MAKERS, WITHOUT_OTHERS, scene

Load = Callable[[str], Any]


def test_drop_scenes_are_half_clean_in_every_scenario(load: Load) -> None:
    """Each corruption has as many clean steps as corrupted ones, clean first, severities rising."""
    load("mnist")
    made = scene("mnist", "drop", "coherent", 0)
    assert len(made.scenarios) == 15
    for number in range(15):
        at = made.scenario == number
        shifted = made.plan.shifted[at]
        assert shifted.mean() == 0.5
        assert (np.diff(shifted.astype(int)) >= 0).all()
        assert (np.diff(made.plan.severity[at]) >= 0).all()
    assert made.plan.starts.tolist() == list(range(0, 30_000, 2_000))


def test_rehearsal_and_drop_share_no_sample(load: Load) -> None:
    """What choices are made on is not what they are judged on."""
    load("mnist")
    judged, chosen = scene("mnist", "drop", "iid", 0), scene("mnist", "rehearsal", "iid", 0)
    assert not np.isin(judged.samples.row, chosen.samples.row).any()


def test_other_things_have_no_label(load: Load) -> None:
    """Out of distribution no class is right."""
    load("mnist")
    load("fashion_mnist")
    made = scene("mnist", "ood", "coherent", 1)
    assert (made.labels[made.plan.shifted] == -1).all()
    assert (made.labels[~made.plan.shifted] >= 0).all()


def test_shuffled_recordings_keep_their_windows(load: Load) -> None:
    """i.i.d. is the same windows in another order, faulty ones where faulty ones stood."""
    load("hapt")
    as_recorded, shuffled = (scene("hapt", "drop", kind, 0) for kind in ("coherent", "iid"))
    assert (as_recorded.plan.shifted == shuffled.plan.shifted).all()
    assert sorted(shuffled.plan.index.tolist()) == as_recorded.plan.index.tolist()
    assert (np.diff(shuffled.plan.index) != 1).mean() > 0.9


def test_unknown_task_is_refused() -> None:
    """The error names the tasks."""
    with pytest.raises(ValueError, match=r"task must be one of mnist, .* got 'svhn'"):
        scene("svhn", "drop", "iid", 0)
    assert set(MAKERS) >= WITHOUT_OTHERS
