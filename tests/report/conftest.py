# SPDX-License-Identifier: Apache-2.0
"""Pages of every kind of stream."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tcuq
from tcuq.demo import demo_stream
from tcuq.reports import report
from tests.fixtures.conformance import quiet_fit
from tests.fixtures.healthy_streams import health_profile, healthy_stream

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\u202e\udcff</title>.npz"


@pytest.fixture(scope="session")
def hostile() -> str:
    """Return a malicious file name."""
    return HOSTILE


@pytest.fixture(scope="session")
def plain_profile(synthetic: Callable[..., tcuq.Stream]) -> tcuq.Profile:
    """Fit the paper's profile without features: no novelty, no instability, no alarm."""
    shifted = np.arange(600) >= 400
    development = synthetic(width=0, seed=1, shifted=shifted)
    return quiet_fit(synthetic(width=0), development, preset="paper")


@pytest.fixture(scope="session")
def pages(
    tmp_path_factory: pytest.TempPathFactory,
    profile: tcuq.Profile,
    plain_profile: tcuq.Profile,
    synthetic: Callable[..., tcuq.Stream],
) -> Callable[[str], Path]:
    """Write the page of each kind of stream once."""
    folder = tmp_path_factory.mktemp("pages")
    fault, test = demo_stream("fault_clipping"), demo_stream("test")
    assert test.features is not None
    sure = np.tile(np.r_[0.991, np.full(9, 0.001)], (300, 1))
    calm = np.tile(test.features[0], (300, 1))
    strict = quiet_fit(demo_stream("calibration"), budget=0.05, alarm=tcuq.AlarmOptions(1 << 14))

    def unlabelled() -> tcuq.Stream:
        return tcuq.Stream(test.posteriors, test.features, starts=test.starts)

    makers: dict[str, Callable[[], str]] = {
        "shifted": lambda: report({"a": profile}, fault, "fault_clipping.npz", rounds=10),
        "missed": lambda: report({"a": profile}, demo_stream("fault_microphone"), "x", rounds=0),
        "unlabelled": lambda: report({"a": profile}, unlabelled(), "field", rounds=0),
        "featureless": lambda: report({"a": plain_profile}, synthetic(width=0), "x", rounds=0),
        "calm": lambda: report({"a": profile}, tcuq.Stream(sure, calm), rounds=0),
        "health": lambda: report(
            {"a": health_profile()}, healthy_stream(3000, seed=2, rough_from=1500), rounds=0
        ),
        "one step": lambda: report({"a": profile}, test[ : 1], rounds=0),
        "compared": lambda: report(
            {"a.json": profile, "b.json": strict}, fault, "fault_clipping.npz", rounds=0
        ),
        "hostile": lambda: report(
            {HOSTILE: profile, "</script><script>alert(3)</script>": strict}, test, HOSTILE,
            rounds=0,
        ),
    }  # fmt: skip

    def page(name: str) -> Path:
        path = folder / f"{name.replace(' ', '-')}.html"
        if not path.exists():
            path.write_text(makers[name](), "utf-8")
        return path

    return page
