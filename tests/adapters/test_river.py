# SPDX-License-Identifier: Apache-2.0
"""The monitor as a drift detector of river."""

import numpy as np
import pytest
from river import base

import tcuq
from tcuq.adapters.river import DriftMonitor
from tcuq.errors import InputError


def test_it_alarms_as_the_monitor_does(profile: tcuq.Profile, faulty: tcuq.Stream) -> None:
    """`drift_detected` is true at the monitor's alarms and at no other step."""
    detector = DriftMonitor(profile)
    assert isinstance(detector, base.DriftDetector)
    assert faulty.features is not None
    detected = []
    for row, features in zip(faulty.posteriors[:900], faulty.features[:900], strict=True):
        detector.update(row, features)
        detected.append(detector.drift_detected)
    trace = tcuq.Monitor(profile).run(faulty.posteriors[:900], faulty.features[:900])
    assert detector.decision is not None
    assert np.flatnonzero(detected).tolist() == list(trace.alarms)
    assert trace.alarms


def test_clones_start_anew(profile: tcuq.Profile, faulty: tcuq.Stream) -> None:
    """A clone has the profile and none of the steps."""
    detector = DriftMonitor(profile, classes=list("0123456789"))
    assert faulty.features is not None
    by_class = dict(zip("0123456789", faulty.posteriors[0].tolist(), strict=True))
    detector.update(by_class, faulty.features[0])
    clone = detector.clone()
    assert clone.profile is profile
    assert (clone.classes, clone.decision) == (list("0123456789"), None)
    clone.update(by_class, faulty.features[0])
    assert clone.decision == detector.decision


def test_dictionaries_are_rows(profile: tcuq.Profile, faulty: tcuq.Stream) -> None:
    """A class that a river model has not met yet counts as 0; an unknown one is refused."""
    detector = DriftMonitor(profile)
    assert faulty.features is not None
    detector.update({3: 0.75, 7: 0.25}, faulty.features[0])
    assert detector.decision is not None
    assert detector.decision.label == 3
    with pytest.raises(InputError, match="got 'seven'"):
        detector.update({"seven": 1.0}, faulty.features[0])
