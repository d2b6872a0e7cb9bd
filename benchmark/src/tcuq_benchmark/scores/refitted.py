# SPDX-License-Identifier: Apache-2.0
"""The paper's score with a combiner of fewer signals, fitted again, or with equal weights."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from tcuq import Monitor, Profile, Stream
from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scores.monitors import MonitorScore
from tcuq_benchmark.scores.score import Floats, Prediction

SIGNALS = ("divergence", "instability", "inconsistency", "doubt")
GAIN, OFFSET = 8.0, -4.0  # spread a signal in [0, 1] over the sigmoid's steep part
RISK_LEVELS = 16384


def _tcuq() -> MonitorScore:
    return MonitorScore({"score": "tcuq"}, labelled=True)


def with_weights(
    profile: Profile, weights: Sequence[float], bias: float | None = None, mix: float | None = None
) -> Profile:
    """Return the profile with other weights of the four signals, and other bias and mix."""
    score: Any = profile.score
    combiner = replace(score.weights, **dict(zip(SIGNALS, weights, strict=True)))
    changed = replace(
        score,
        weights=combiner,
        bias=score.bias if bias is None else bias,
        mix=score.mix if mix is None else mix,
    )
    return replace(profile, score=changed)


def signal_columns(profile: Profile, stream: Stream) -> Floats:
    """Return the four signals by step, read from the risk of monitors that combine one signal each.

    Risk has 16,384 levels, so a signal in [0, 1] is known to about 1/2000.
    """
    columns = []
    for one in SIGNALS:
        weights = [GAIN * (name == one) for name in SIGNALS]
        trace = Monitor(with_weights(profile, weights, OFFSET, 1.0)).run(stream)
        risk = np.clip(trace.risk.astype(np.float64), 1 / RISK_LEVELS, 1 - 1 / RISK_LEVELS)
        columns.append((np.log(risk / (1 - risk)) - OFFSET) / GAIN)
    return np.column_stack(columns)


@dataclass(slots=True)
class ChangedScore:
    """The paper's score whose profile is changed after the fit."""

    fitted_: MonitorScore = field(default_factory=_tcuq, init=False)

    def predict(self, run: ScenarioRun) -> Prediction:
        """Predict with the changed profile."""
        return self.fitted_.predict(run)


@dataclass(slots=True)
class RefittedScore(ChangedScore):
    """The paper's score whose combiner is fitted on some of the signals.

    The regression is the library's: class-balanced, L2 penalty of strength 1, free signs.
    """

    signals: tuple[str, ...]

    def fit(self, calibration: ScenarioRun, development: ScenarioRun) -> None:
        """Fit with all signals, then fit the combiner again without those left out."""
        self.fitted_.fit(calibration, development)
        profile, stream = self.fitted_.profile(), development.stream(self.fitted_.network)
        known = development.labels >= 0
        columns = signal_columns(profile, stream)[known]
        chosen = [SIGNALS.index(name) for name in self.signals]
        wrong = (Monitor(profile).run(stream).label != development.labels)[known]
        model = LogisticRegression(C=1.0, class_weight="balanced", max_iter=1000, tol=1e-8)
        model.fit(columns[:, chosen], wrong)
        weights = np.zeros(len(SIGNALS))
        weights[chosen] = model.coef_[0]
        bias = float(model.intercept_[0])
        self.fitted_.profile_ = with_weights(profile, weights.tolist(), bias)


@dataclass(slots=True)
class FrozenScore(ChangedScore):
    """The paper's score with all weights 1 and the fitted bias: the combiner is not learned."""

    def fit(self, calibration: ScenarioRun, development: ScenarioRun) -> None:
        """Fit, then set the weights to 1."""
        self.fitted_.fit(calibration, development)
        profile = self.fitted_.profile()
        self.fitted_.profile_ = with_weights(profile, [1.0] * len(SIGNALS))
