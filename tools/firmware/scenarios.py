# SPDX-License-Identifier: Apache-2.0
"""Profiles and recorded steps the firmware is measured with."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

import tcuq
from tcuq._health_columns import HEALTH_ONE
from tcuq.decision import Trace
from tcuq.demo import demo_profile, demo_stream
from tcuq.monitor import Monitor
from tcuq.profile.quantize import quantize
from tcuq.profile.settings import ALPHA_BITS, RISK_LEVELS
from tcuq.stages.inputs import device_health
from tools.firmware.emulator import (
    DECISION,
    NO_HEALTH,
    RECORDING_BEGINS,
    Decisions,
    Steps,
    recordings,
)
from tools.firmware.export import write_c
from tools.firmware.toolchain import ALONE

HEALTH_STATISTICS = 6  # as of an accelerometer and a gyroscope


@dataclass(frozen=True, slots=True)
class Scenario:
    """A profile, the build that runs it and the quantised steps it runs over."""

    name: str
    title: str
    profile: tcuq.Profile
    steps: Steps
    whole: bool  # novelty, health, alarm and telemetry are built in

    @property
    def options(self) -> tuple[str, ...]:
        """The compiler's options for its build."""
        return () if self.whole else ALONE

    def monitor(self) -> str:
        """Its monitor in C."""
        return write_c(quantize(self.profile), telemetry=self.whole)

    def first(self, steps: int) -> "Scenario":
        """The same with this many steps, the recorded ones again and again."""
        return replace(self, steps=self.steps.at(np.arange(steps) % len(self.steps)))

    def _run(self, monitor: Monitor) -> Iterator[Trace]:
        """Run the host's engine, which takes health for all steps of a call or for none."""
        marks = self.steps.marks
        if marks is None:
            marks = np.zeros(len(self.steps), np.uint8)
        cuts = np.flatnonzero((marks & RECORDING_BEGINS != 0) | (np.diff(marks, prepend=0) != 0))
        for begin, end in pairwise([*sorted({0, *cuts.tolist()}), len(marks)]):
            part = self.steps.at(slice(begin, end))
            if marks[begin] & RECORDING_BEGINS:
                monitor.reset_history()
            health = None if marks[begin] & NO_HEALTH else part.health
            yield monitor.run(part.posteriors, part.features, health)

    def expected(self) -> Decisions:
        """What the host's engine decides on the same steps."""
        return np.concatenate([_decisions(trace) for trace in self._run(Monitor(self.profile))])

    def expected_state(self) -> bytes:
        """What main.c writes then: snapshot, record, snapshot after the past is forgotten."""
        monitor = Monitor(self.profile)
        for _ in self._run(monitor):
            pass
        record = monitor.record(device=0x1122334455667788, firmware=7, boot=3, sequence=9)
        parts = [monitor.snapshot(), record]
        monitor.reset_history()
        return b"".join([*parts, monitor.snapshot()])


def _decisions(trace: Trace) -> Decisions:
    decisions = np.zeros(len(trace), DECISION)
    decisions["risk"] = trace.risk * RISK_LEVELS
    decisions["novelty_q10"] = trace.novelty * 1024
    decisions["threshold_q16"] = trace.threshold * (RISK_LEVELS << ALPHA_BITS)
    for name in ("label", "exceeded", "outcome", "alarm", "cause"):
        decisions[name] = getattr(trace, name)
    return decisions


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


def wide_scenario(width: int) -> Scenario:
    """The recommended preset on features that are projected to 32."""
    mixing = np.random.default_rng(9).normal(size=(32, width))

    def widened(stream: tcuq.Stream, seed: int) -> tcuq.Stream:
        noise = 0.1 * np.random.default_rng(seed).normal(size=(len(stream), width))
        features = np.asarray(stream.features) @ mixing + noise
        return tcuq.Stream(
            stream.posteriors, features, stream.labels, kind=stream.kind, health=stream.health
        )

    profile = quiet_fit(widened(synthetic_stream(6000, 1), 3))
    recorded = widened(synthetic_stream(1000, 2), 4)
    return make_scenario(
        f"wide_{width}", f"recommended, {width} features to 32", profile, [recorded], whole=True
    )


def field_scenario(steps: int) -> Scenario:
    """Input health, a gap every 60 steps, steps without health, short epochs; then a fault."""
    profile = quiet_fit(synthetic_stream(20_000, 1), epoch_steps=300, steps_per_false_alarm=4096)
    scenario = make_scenario(
        "field_10", "in the field", profile, [synthetic_stream(steps, 4)], whole=True
    )
    health = np.array(scenario.steps.health)
    health[steps // 2 :, 3] += 3 * HEALTH_ONE
    marks = recordings(steps, np.arange(0, steps, 60))
    marks[np.random.default_rng(5).random(steps) < 0.2] |= NO_HEALTH
    return replace(scenario, steps=replace(scenario.steps, health=health, marks=marks))


def synthetic_stream(steps: int, seed: int, *, shifted: bool = False) -> tcuq.Stream:
    """Ten classes of dwell 20, 32 features and six statistics of input health."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(0).normal(size=(10, 32)) * 2
    labels = np.repeat(rng.integers(0, 10, steps // 20 + 1), 20)[:steps]
    features = means[labels] + rng.normal(size=(steps, 32))
    late = np.arange(steps) >= steps // 2
    if shifted:
        features[late] = 0.4 * features[late] + 2 * rng.normal(size=(int(late.sum()), 32))
    logits = 0.15 * features @ means.T
    marks = late if shifted else None
    health = rng.normal(size=(steps, HEALTH_STATISTICS))
    return tcuq.Stream(logits, features, labels, shifted=marks, kind="logits", health=health)


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
    reference = profile.signals.health if profile.alarm is not None else None  # its only reader
    statistics = [device_health(s.health, reference, len(s)) for s in streams]
    health = [rows for rows in statistics if rows is not None]
    steps = Steps(
        posteriors,
        np.concatenate(columns) if columns else None,
        np.concatenate(health) if health else None,
    )
    return Scenario(name, title, profile, steps, whole)
