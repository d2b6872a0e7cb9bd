# SPDX-License-Identifier: Apache-2.0
"""Score: signals to a risk and an expected error in [0, 1], and to novelty in bits.

The risk ranks steps by how probably their label is wrong; the mean of the expected error over a
stretch is the share of its labels that are probably wrong. tcuq, the paper's, has one number for
both: U = sigmoid(w · [divergence, instability, inconsistency, doubt] + bias), risk = mix · U +
(1 - mix) · (1 - confidence). anchored, ours: sigmoid(sum + bias), the sum over terms of weight ·
clip(bits - dead, 0, cap), bits the surprise of a signal against the calibration stream, or
log-odds: of an error by the classifier's own confidence, and of the past against the label.
novelty is the mean of two surprises, weighed by shares: half this step's, half their mean over
the last steps.
"""

import numpy as np
from numpy.typing import NDArray

from tcuq.profile.settings import (
    MAX_NOVELTY,
    AnchoredScoreSettings,
    NoveltyTerm,
    ScoreSettings,
    TcuqScoreSettings,
    Term,
)
from tcuq.runtime import risk_odds_q10
from tcuq.stages.columns import SignalColumns

Floats = NDArray[np.float64]

# The device's own table: risks that tie on the device tie here.
RISK_ODDS: Floats = np.frombuffer(risk_odds_q10, np.int16) * (np.log(2) / 1024)

# The mean of -log2 of a uniform number, and the smoothing of novelty by 2^-5 per step.
MEAN_BITS, RECENT_EWMA = float(np.log2(np.e)), 5

COMBINED = ("divergence", "instability", "inconsistency", "doubt")


def risk_odds(levels: NDArray[np.int64]) -> Floats:
    """Return the log-odds of risks in 0..16384, as the alarm takes them."""
    return RISK_ODDS[levels]


class TcuqScore:
    """The paper's score: a logistic combination blended with low confidence.

    References
    ----------
    Lamaakal et al., TCUQ, equations 3 and 4.
    """

    def __init__(self, settings: TcuqScoreSettings) -> None:
        self.settings = settings

    def run(self, columns: SignalColumns) -> tuple[Floats, Floats]:
        """Return the risk of each step, twice: it is the expected error as well."""
        settings = self.settings
        uncertainty = sigmoid(self.logit(columns))
        risk = settings.mix * uncertainty + (1 - settings.mix) * (1 - columns.confidence)
        return risk, risk

    def logit(self, columns: SignalColumns) -> Floats:
        """Return the combination before the sigmoid."""
        total = np.full(len(columns.label), float(self.settings.bias))
        for name in COMBINED:
            weight = getattr(self.settings.weights, name)
            if weight is not None:
                total += weight * columns.named(name)
        return total

    def reset_history(self) -> None:
        """Do nothing: this score has no history."""


class AnchoredScore:
    """Surprises against the calibration stream, weighed and summed."""

    def __init__(self, settings: AnchoredScoreSettings) -> None:
        self.settings = settings
        self.reset_history()

    def reset_history(self) -> None:
        """Restart the smoothed bits from their calibration means."""
        self._smoothed = np.array([term.start for term in self.settings.terms], np.float64)

    def run(self, columns: SignalColumns) -> tuple[Floats, Floats]:
        """Return the risk and the expected error of each step."""
        steps = len(columns.label)
        risk = np.full(steps, float(self.settings.bias))
        error = np.full(steps, float(self.settings.error_bias))
        for index, term in enumerate(self.settings.terms):
            bits = term_bits(columns.named(term.signal), term, float(self._smoothed[index]))
            if term.ewma is not None and steps:
                self._smoothed[index] = bits[-1]
            above = np.minimum(np.maximum(bits - term.dead, 0), term.cap)
            risk += term.weight * above
            error += term.error_weight * above
        return sigmoid(risk), sigmoid(error)


def term_bits(values: Floats, term: Term, start: float) -> Floats:
    """Return a term's bits, smoothed from `start` on if it smooths."""
    bits = np.minimum(surprise(values, term), MAX_NOVELTY)
    return bits if term.ewma is None else ewma(bits, start, term.ewma)


class Novelty:
    """Surprise of the features and of the confidence, in bits, now and lately.

    P(surprise >= b) is at most 2^-b on calibration. A weighted geometric mean of such
    probabilities, times e, is one again, so P(novelty >= b + log2(e)) is at most 2^-b.

    Parameters
    ----------
    terms
        Signals, their shares and tables; without any, novelty is 0.

    References
    ----------
    V. Vovk and R. Wang, Combining p-values via averaging, 2020.
    """

    def __init__(self, terms: tuple[NoveltyTerm, ...]) -> None:
        self.terms = terms
        self.reset_history()

    def reset_history(self) -> None:
        """Restart the mean over the last steps from that of calibration."""
        self._recent = MEAN_BITS * sum(term.share for term in self.terms)

    def run(self, columns: SignalColumns) -> Floats:
        """Return the novelty of each step."""
        now = np.zeros(len(columns.label))
        for term in self.terms:
            now += term.share * term_bits(columns.named(term.signal), term.as_term(), 0.0)
        recent = ewma(now, self._recent, RECENT_EWMA)
        if len(recent):
            self._recent = float(recent[-1])
        return (now + recent) / 2


def make_score(settings: ScoreSettings) -> TcuqScore | AnchoredScore:
    """Return the score that these settings describe."""
    if isinstance(settings, TcuqScoreSettings):
        return TcuqScore(settings)
    return AnchoredScore(settings)


def sigmoid(values: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)), without overflow."""
    small = np.exp(-np.abs(values))
    result: Floats = np.where(values >= 0, 1, small) / (1 + small)
    return result


def ewma(values: Floats, start: float, shift: int) -> Floats:
    """Return the exponentially weighted mean: m += (x - m) / 2^shift at each step."""
    factor = 2.0**-shift
    mean = start
    means = []
    for value in values.tolist():
        mean += (value - mean) * factor
        means.append(mean)
    return np.array(means, np.float64)


def surprise(values: Floats, term: Term) -> Floats:
    """Return -log2 survival: linear between the table's points, then by the slope of the tail."""
    bits = np.interp(values, term.points, term.bits)
    return bits + term.slope * np.maximum(values - term.points[-1], 0)
