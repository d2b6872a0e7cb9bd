# SPDX-License-Identifier: Apache-2.0
"""Loading an untrusted profile gives a working profile or a one-line ProfileError."""

import os

import numpy as np
from hypothesis import HealthCheck, given, settings

import tcuq
from tcuq.errors import ProfileError
from tests.fixtures.documents import damaged
from tests.fixtures.effort import cases

EXAMPLES = int(os.environ.get("TCUQ_LOADER_CASES", cases(1000)))


@given(damaged)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
)
def test_loader_gives_a_profile_or_a_profile_error(data: bytes) -> None:
    """A loaded profile runs, saves and loads again unchanged; a refused one gives one line."""
    try:
        profile = tcuq.Profile.from_json(data)
    except ProfileError as error:
        message = str(error)
        assert message
        assert "\n" not in message
        assert len(message) < 500
        return
    assert tcuq.Profile.from_json(profile.to_json()).sha256 == profile.sha256
    rows = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]] * 10)
    if profile.inputs.kind == "logits" or profile.inputs.classes == 2:
        features = np.ones((30, profile.inputs.width)) if profile.inputs.width else None
        rows = np.resize(rows, (30, profile.inputs.classes))
        trace = tcuq.Monitor(profile).run(rows, features)
        assert np.isfinite(trace.risk).all()
        assert ((trace.risk >= 0) & (trace.risk <= 1)).all()
