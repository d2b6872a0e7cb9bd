# SPDX-License-Identifier: Apache-2.0
"""Profiles and recorded steps the firmware is measured with."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import tcuq
from tcuq.demo import demo_profile, demo_stream
from tcuq.monitor import Monitor
from tcuq.profile.quantize import quantize
from tcuq.profile.settings import ALPHA_BITS, RISK_LEVELS
from tools.firmware.emulator import DECISION, Decisions
from tools.firmware.export import write_c
from tools.firmware.toolchain import ALONE


@dataclass(frozen=True, slots=True)
class Scenario:
    """A profile, the build that runs it and the quantised steps it runs over."""

    name: str
    title: str
    profile: tcuq.Profile
    posteriors: NDArray[np.uint8]
    features: NDArray[np.int8] | None
    whole: bool  # novelty, health, alarm and telemetry are built in
    health: NDArray[np.int16] | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """The compiler's options for its build."""
        return () if self.whole else ALONE

    def monitor(self) -> str:
        """Its monitor in C."""
        return write_c(quantize(self.profile), telemetry=self.whole)

    def first(self, steps: int) -> "Scenario":
        """The same with this many steps, the recorded ones again and again."""
        at = np.arange(steps) % len(self.posteriors)
        return replace(
            self,
            posteriors=self.posteriors[at],
            features=None if self.features is None else self.features[at],
            health=None if self.health is None else self.health[at],
        )

    @property
    def steps(
        self,
    ) -> tuple[NDArray[np.uint8], NDArray[np.int8] | None, NDArray[np.int16] | None]:
        """Posteriors, features and health, as the firmware takes them."""
        return self.posteriors, self.features, self.health

    def expected(self) -> Decisions:
        """What the host's engine decides on the same steps."""
        trace = Monitor(self.profile).run(*self.steps)
        decisions = np.zeros(len(trace), DECISION)
        decisions["risk"] = trace.risk * RISK_LEVELS
        decisions["threshold_q16"] = trace.threshold * (RISK_LEVELS << ALPHA_BITS)
        for name in ("label", "exceeded", "outcome", "alarm", "cause"):
            decisions[name] = getattr(trace, name)
        return decisions

    def expected_state(self) -> bytes:
        """What main.c writes then: snapshot, record, snapshot after the past is forgotten."""
        monitor = Monitor(self.profile)
        monitor.run(*self.steps)
        engine = monitor._engine  # noqa: SLF001 - records are the fleet's, not yet the monitor's
        parts = [engine.snapshot(), engine.record(0x1122334455667788, 7, 3, 9, 5, 1)]
        engine.reset_history()
        return b"".join([*parts, engine.snapshot()])


def box_scenarios() -> list[Scenario]:
    """The bundled streams: 10 classes, 32 features, input health."""
    streams = [demo_stream("fault_clipping"), demo_stream("test")]  # the fault first: it alarms
    paper = quiet_fit(demo_stream("calibration"), demo_stream("development"), preset="paper")
    return [
        make_scenario("tcuq_keywords", "tcuq, keywords", paper, streams, whole=False),
        make_scenario("full_keywords", "everything, keywords", demo_profile(), streams, whole=True),
    ]


def synthetic_scenarios() -> list[Scenario]:
    """The size the limits are stated for: 10 classes, 32 features, lags 1, 2 and 4."""
    calibration, recorded = synthetic_stream(20_000, 1), synthetic_stream(10_000, 2)
    development = synthetic_stream(10_000, 3, shifted=True)
    paper = quiet_fit(calibration, development, preset="paper")
    two_terms = (tcuq.TermPlan("low_confidence", cap=8.0), tcuq.TermPlan("novelty", dead=4.0))
    full = quiet_fit(calibration, terms=two_terms)
    recommended = quiet_fit(calibration)
    return [
        make_scenario("tcuq_10", "tcuq, 10 classes", paper, [recorded], whole=False),
        make_scenario("full_10", "everything, 10 classes", full, [recorded], whole=True),
        make_scenario(
            "recommended_10", "recommended, 10 classes", recommended, [recorded], whole=True
        ),
    ]


def synthetic_stream(steps: int, seed: int, *, shifted: bool = False) -> tcuq.Stream:
    """Ten classes of dwell 20 and 32 features, as tools/measurements/speed.py makes them."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(0).normal(size=(10, 32)) * 2
    labels = np.repeat(rng.integers(0, 10, steps // 20 + 1), 20)[:steps]
    features = means[labels] + rng.normal(size=(steps, 32))
    late = np.arange(steps) >= steps // 2
    if shifted:
        features[late] = 0.4 * features[late] + 2 * rng.normal(size=(int(late.sum()), 32))
    logits = 0.15 * features @ means.T
    marks = late if shifted else None
    return tcuq.Stream(logits, features, labels, shifted=marks, kind="logits")


def quiet_fit(
    calibration: tcuq.Stream,
    development: tcuq.Stream | None = None,
    *,
    preset: Literal["paper", "recommended"] = "recommended",
    **changes: Any,  # noqa: ANN401 - options of the fit
) -> tcuq.Profile:
    """A fit whose warnings are not what is measured here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcuq.CalibrationWarning)
        return tcuq.fit(calibration, development, preset=preset, lags=(1, 2, 4), **changes)


def make_scenario(
    name: str, title: str, profile: tcuq.Profile, streams: Sequence[tcuq.Stream], *, whole: bool
) -> Scenario:
    """A profile over the steps of these streams, one after another, as the device takes them."""
    monitor = Monitor(profile)
    parts = [monitor.quantize(s.posteriors, s.features) for s in streams]
    posteriors = np.concatenate([rows for rows, _ in parts])
    columns = [columns for _, columns in parts if columns is not None]
    features = np.concatenate(columns) if columns else None
    return Scenario(name, title, profile, posteriors, features, whole)
