# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tcuq_benchmark.scenarios.tasks import FACTORIES, WITHOUT_OOD, make_scenario

Load = Callable[[str], Any]


def test_drop_scenarios_are_half_clean_in_every_condition(load: Load) -> None:
    """Each corruption has as many clean steps as corrupted ones, clean first, severities rising."""
    load("mnist")
    scenario = make_scenario("mnist", "drop", "coherent", 0)
    assert len(scenario.conditions) == 15
    for number in range(15):
        at = scenario.condition == number
        shifted = scenario.plan.shifted[at]
        assert shifted.mean() == 0.5
        assert (np.diff(shifted.astype(int)) >= 0).all()
        assert (np.diff(scenario.plan.severity[at]) >= 0).all()
    assert scenario.plan.starts.tolist() == list(range(0, 30_000, 2_000))


def test_development_and_drop_share_no_sample(load: Load) -> None:
    """Choices are made and tested on different samples."""
    load("mnist")
    drop, development = (
        make_scenario("mnist", "drop", "iid", 0),
        make_scenario("mnist", "development", "iid", 0),
    )
    assert not np.isin(drop.samples.row, development.samples.row).any()


def test_out_of_distribution_samples_have_no_label(load: Load) -> None:
    """Out of distribution every label is -1."""
    load("mnist")
    load("fashion_mnist")
    scenario = make_scenario("mnist", "ood", "coherent", 1)
    assert (scenario.labels[scenario.plan.shifted] == -1).all()
    assert (scenario.labels[~scenario.plan.shifted] >= 0).all()


def test_shuffled_recordings_keep_their_windows(load: Load) -> None:
    """i.i.d. has the same windows in another order, faulty ones at the same steps."""
    load("hapt")
    outputs_of_samples, shuffled = (
        make_scenario("hapt", "drop", kind, 0) for kind in ("coherent", "iid")
    )
    assert (outputs_of_samples.plan.shifted == shuffled.plan.shifted).all()
    assert sorted(shuffled.plan.index.tolist()) == outputs_of_samples.plan.index.tolist()
    assert (np.diff(shuffled.plan.index) != 1).mean() > 0.9


def test_digits_have_shorter_streams_and_no_other_set() -> None:
    """A label stays for 15 steps on average; there are nine faults, and no set to follow."""
    clean = make_scenario("digits", "in_distribution", "coherent", 0)
    assert len(clean.plan) == 4_000
    assert len(make_scenario("digits", "calibration", "iid", 0).plan) == 5_000
    assert 10 < 4_000 / np.count_nonzero(np.diff(clean.labels)) < 20
    drop = make_scenario("digits", "drop", "coherent", 0)
    assert len(drop.conditions) == 9
    assert len(drop.plan) == 18_000
    with pytest.raises(ValueError, match="no out-of-distribution set"):
        make_scenario("digits", "ood", "iid", 0)


def test_unknown_task_is_refused() -> None:
    """The error names the tasks."""
    with pytest.raises(ValueError, match=r"task must be one of mnist, .* got 'svhn'"):
        make_scenario("svhn", "drop", "iid", 0)
    assert set(FACTORIES) >= WITHOUT_OOD
