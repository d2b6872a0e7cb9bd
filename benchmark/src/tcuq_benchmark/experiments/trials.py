# SPDX-License-Identifier: Apache-2.0
"""Eight trials for each score: the best of them on the development stream is its tuned form.

The trials are those of benchmark/docs/protocol.md, as many for others' scores as for ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product

import numpy as np

from tcuq.options import TERMS
from tcuq_benchmark.experiments.detection import mean_drop_auprc
from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scores.distance import Mahalanobis, NextActivation
from tcuq_benchmark.scores.ensembles import LOGITS, MeanPosterior
from tcuq_benchmark.scores.monitors import MonitorScore
from tcuq_benchmark.scores.posterior import Conformal, Posterior, Temperature
from tcuq_benchmark.scores.score import Prediction, Score
from tcuq_benchmark.scores.table import RULES

TEMPERATURES = (0.5, 0.71, 1.0, 1.41, 2.0, 2.83, 4.0, 8.0)
SHRINKAGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9)
RIDGES = (0.01, 0.1, 1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0)
LAGS = ((1, 2, 4), (1, 4, 16))
MIXES = (0.5, 0.7, 0.9, 1.0)
NOVELTY_FACTORS, INCONSISTENCY_FACTORS = (0.5, 1.0, 2.0, 4.0), (1.0, 2.0)
SMOOTHINGS = (3, 4, 5, 6)
SCALED = ("logits", "heads", "passes")  # outputs that a temperature divides
Candidates = Mapping[str, Callable[[], Score]]


@dataclass(slots=True)
class Tuned:
    """The candidate with the largest mean accuracy-drop AUPRC on the development stream."""

    candidates: Candidates
    chosen_: str = field(default="", init=False)
    score_: Score | None = field(default=None, init=False)

    def fit(self, calibration: ScenarioRun, development: ScenarioRun) -> None:
        """Fit every candidate and keep the best; the first of equals."""
        best = -1.0
        for name, make in self.candidates.items():
            score = make()
            score.fit(calibration, development)
            reached = float(np.nan_to_num(mean_drop_auprc(score, calibration, development)))
            if reached > best:
                best, self.chosen_, self.score_ = reached, name, score

    def predict(self, run: ScenarioRun) -> Prediction:
        """Predict with the chosen candidate."""
        if self.score_ is None:
            raise ValueError("a score must be fitted before it predicts: call fit")
        return self.score_.predict(run)


@dataclass(slots=True)
class AtTemperature:
    """A score on logits divided by a temperature."""

    score: Score
    temperature: float

    def fit(self, calibration: ScenarioRun, development: ScenarioRun) -> None:
        """Fit on divided logits."""
        self.score.fit(self._divided(calibration), self._divided(development))

    def predict(self, run: ScenarioRun) -> Prediction:
        """Predict on divided logits."""
        return self.score.predict(self._divided(run))

    def _divided(self, run: ScenarioRun) -> ScenarioRun:
        outputs = {
            network: {
                name: values / self.temperature if name in SCALED else values
                for name, values in columns.items()
            }
            for network, columns in run.outputs.items()
        }
        return replace(run, outputs=outputs)


@dataclass(slots=True)
class TimesTemperature(Temperature):
    """Temperature scaling with the fitted temperature times a factor."""

    factor: float = 1.0

    def fit(self, calibration: ScenarioRun, development: ScenarioRun) -> None:
        """Fit the temperature, then multiply it."""
        Temperature.fit(self, calibration, development)
        self.temperature_ *= self.factor


def weighed(novelty: float, contradiction: float) -> Score:
    """Return the default score with other weights of two signals."""
    factors = {"novelty": novelty, "contradiction": contradiction}
    terms = [replace(t, weight=t.weight * factors.get(t.signal, 1)) for t in TERMS]
    return MonitorScore({"terms": terms})


def smoothed(ewma: int, lags: tuple[int, ...]) -> Score:
    """Return the labelled score with other smoothing and lags."""
    terms = [t if t.ewma is None else replace(t, ewma=ewma) for t in TERMS]
    return MonitorScore({"terms": terms, "lags": lags}, labelled=True)


def _tcuq(network: str) -> Candidates:
    make = partial(MonitorScore, labelled=True, network=network)
    return {
        f"mix {mix}, lags {lags}": partial(make, {"score": "tcuq", "mix": mix, "lags": lags})
        for mix, lags in product(MIXES, LAGS)
    }


def _temperatures(make: Callable[[], Score]) -> Candidates:
    def at(temperature: float) -> Score:
        return AtTemperature(make(), temperature)

    return {f"temperature {t}": partial(at, t) for t in TEMPERATURES}


TRIALS: Mapping[str, Candidates] = {
    **{rule: _temperatures(partial(Posterior, rule)) for rule in RULES},
    "temperature": {f"fitted × {f}": partial(TimesTemperature, factor=f) for f in TEMPERATURES},
    "conformal": _temperatures(Conformal),
    "mahalanobis": {f"shrinkage {s}": partial(Mahalanobis, shrinkage=s) for s in SHRINKAGES},
    "next activation": {f"ridge {r:g}": partial(NextActivation, ridge=r) for r in RIDGES},
    **{
        name: _temperatures(partial(MeanPosterior, LOGITS[name]))
        for name in ("ensemble", "dropout", "exits")
    },
    "tcuq": _tcuq("base"),
    "tcuq assisted": _tcuq("assisted"),
    "recommended": {
        f"novelty × {n}, contradiction × {i}": partial(weighed, n, i)
        for n, i in product(NOVELTY_FACTORS, INCONSISTENCY_FACTORS)
    },
    "recommended labelled": {
        f"smoothing {k}, lags {lags}": partial(smoothed, k, lags)
        for k, lags in product(SMOOTHINGS, LAGS)
    },
}
