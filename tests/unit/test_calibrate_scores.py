# SPDX-License-Identifier: Apache-2.0
"""What the score is fitted from: tails of signals, weights of terms, the temperature."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import tcuq
from tcuq.calibrate.combiner import Sample, fit_logistic, fit_near
from tcuq.calibrate.tails import POINTS, RAREST, TermTable, survival_table
from tcuq.errors import FitError, InputError
from tcuq.profile.settings import Term
from tcuq.stages.score import surprise
from tcuq.tap import record

Draw = Callable[[np.random.Generator], NDArray[np.float64]]
SAMPLES: dict[str, Draw] = {
    "normal": lambda rng: rng.normal(size=5000),
    "heavy": lambda rng: rng.standard_t(2, 5000),
    "mostly ties": lambda rng: np.maximum(rng.normal(size=5000), 0),
    "few values": lambda rng: rng.integers(0, 4, 5000).astype(float),
    "two steps": lambda rng: rng.normal(size=2),
    "one step": lambda rng: rng.normal(size=1),
    "constant": lambda _: np.full(300, 2.5),
}
Floats = NDArray[np.float64]


def table_of(values: NDArray[np.float64]) -> TermTable:
    """Return the table of a sample."""
    return survival_table(*np.unique(values, return_counts=True), STEEPEST)


@pytest.mark.parametrize("name", SAMPLES)
def test_table_is_a_survival_function(name: str) -> None:
    """Points ascend, bits never fall, and each is -log2 of the share of steps at or above it."""
    table = table_of(SAMPLES[name](np.random.default_rng(0)))
    assert 1 <= len(table.points) == len(table.bits) <= POINTS
    assert (np.diff(table.points) > 0).all()
    assert table.bits[0] == 0
    assert (np.diff(table.bits) >= 0).all()
    assert 0 <= table.slope <= STEEPEST
    values = SAMPLES[name](np.random.default_rng(1))
    table = table_of(values)
    for point, bits in zip(table.points, table.bits, strict=True):
        assert bits == pytest.approx(-np.log2((values >= point).mean()))


STEEPEST = 1e6  # bits per unit


def test_table_ends_where_its_tail_begins() -> None:
    """One step in two hundred exceeds the last point; a constant has one and the steepest tail."""
    values = np.random.default_rng(2).normal(size=20_000)
    table = table_of(values)
    assert (values >= table.points[-1]).mean() == pytest.approx(RAREST, rel=0.02)
    table = table_of(np.full(100, 3.0))
    assert (table.points, table.bits, table.slope) == ((3.0,), (0.0,), STEEPEST)


@pytest.mark.parametrize("scale", [0.01, 1.0, 50.0])
def test_exponential_tail_has_its_slope(scale: float) -> None:
    """Beyond an exponential's table, bits grow by 1 / (scale · ln 2) per unit."""
    table = table_of(np.random.default_rng(3).exponential(scale, 100_000))
    assert table.slope == pytest.approx(1 / (scale * np.log(2)), rel=0.1)


@pytest.mark.parametrize("tail", ["upper", "lower"])
def test_surprise_is_calibrated(tail: str) -> None:
    """On fresh steps of the same kind, at least k bits come at a rate of about 2^-k."""
    rng = np.random.default_rng(4)
    sign = 1 if tail == "upper" else -1
    table = table_of(sign * rng.laplace(size=50_000))
    term = Term(
        "doubt", tail, "surprise", None, 0.0, 0.0, 16.0, 1.0, table.points, table.bits, table.slope  # type: ignore[arg-type]
    )  # fmt: skip
    bits = surprise(rng.laplace(size=200_000), term)
    for level in (1, 3, 6, 9, 10):
        assert (bits >= level).mean() == pytest.approx(2.0**-level, rel=0.25)


def observed(weights: list[float], seed: int = 0) -> tuple[Floats, NDArray[np.bool_]]:
    """Return signals, and errors from a logistic model with these weights."""
    rng = np.random.default_rng(seed)
    signals = rng.normal(size=(2000, len(weights)))
    chance = 1 / (1 + np.exp(2 - signals @ np.array(weights)))
    return signals, rng.random(2000) < chance


@pytest.mark.parametrize("weights", [[1.0, 2.0, 0.5], [3.0], [0.3, 0.3, 0.3, 0.3]])
def test_monotone_is_free_where_free_is_monotone(weights: list[float]) -> None:
    """Where the free optimum has no negative weight, the bound changes nothing."""
    signals, wrong = observed(weights)
    free, free_bias = fit_logistic(signals, wrong, "free")
    bounded, bias = fit_logistic(signals, wrong, "monotone")
    assert (free > 0).all()
    assert bounded == pytest.approx(free, abs=1e-3)
    assert bias == pytest.approx(free_bias, abs=1e-3)


@pytest.mark.parametrize("weights", [[1.0, -2.0, 0.5], [-1.0, -1.0], [2.0, -0.1]])
def test_monotone_is_never_negative(weights: list[float]) -> None:
    """Where the free optimum has negative weights, the bounded one has zeros for them."""
    signals, wrong = observed(weights)
    free, _ = fit_logistic(signals, wrong, "free")
    bounded, _ = fit_logistic(signals, wrong, "monotone")
    assert (bounded >= 0).all()
    assert (bounded[free < 0] == 0).all()
    assert (bounded[np.array(weights) > 0] > 0).all()


def test_weights_are_near_the_truth_and_balanced() -> None:
    """The fit recovers the weights; without any signal the bias gives even odds."""
    signals, wrong = observed([1.0, 2.0, 0.0])
    weights, _ = fit_logistic(signals, wrong, "free")
    assert weights == pytest.approx([1.0, 2.0, 0.0], abs=0.25)
    wrong = np.arange(1000) < 50
    for signs in ("free", "monotone"):
        weights, bias = fit_logistic(np.zeros((1000, 2)), wrong, signs)
        assert weights == pytest.approx([0, 0], abs=1e-9)
        assert bias == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("signs", ["free", "monotone"])
def test_separable_errors_stay_finite(signs: str) -> None:
    """The penalty keeps the weights finite where the signal separates errors perfectly."""
    signals = np.linspace(-1, 1, 200)[:, None] * 1e3
    weights, bias = fit_logistic(signals, signals[:, 0] > 0, signs)  # type: ignore[arg-type]
    assert np.isfinite([*weights, bias]).all()
    assert weights[0] > 0


@pytest.mark.parametrize("signs", ["free", "monotone"])
@pytest.mark.parametrize("wrong", [True, False])
def test_one_kind_of_outcome_is_refused(signs: str, wrong: bool) -> None:
    """Weights need both right and wrong predictions, and the message counts them."""
    with pytest.raises(FitError, match=f"got {50 * wrong} wrong of 50"):
        fit_logistic(np.zeros((50, 1)), np.full(50, wrong), signs)  # type: ignore[arg-type]


def test_evidence_alone_moves_weights_from_the_prior() -> None:
    """Signals of 0 leave them; one that goes with errors gains, one against them ends at 0."""
    prior = np.array([1.0, 0.25])
    sample = Sample(np.zeros((1000, 2)), np.arange(1000) < 50, 1.0)
    weights, bias = fit_near([sample], prior)
    assert weights == pytest.approx(prior, abs=1e-6)
    assert bias == pytest.approx(0, abs=1e-4)
    signals, wrong = observed([2.0, -2.0])
    weights, _ = fit_near([Sample(signals, wrong, 1.0)], np.array([0.5, 0.5]))
    assert weights[0] > 0.6
    assert weights[1] == 0


def test_a_sample_counts_by_its_share_and_not_by_its_length() -> None:
    """Repeating a sample's steps changes nothing; a larger share moves the weights towards it."""
    first, second = observed([2.0, 0.0]), observed([0.0, 2.0], seed=1)
    long = np.concatenate([second[0]] * 3), np.concatenate([second[1]] * 3)
    prior = np.zeros(2)
    once, _ = fit_near([Sample(*first, 0.5), Sample(*second, 0.5)], prior)
    thrice, _ = fit_near([Sample(*first, 0.5), Sample(*long, 0.5)], prior)
    assert thrice == pytest.approx(once, abs=1e-4)
    more, _ = fit_near([Sample(*first, 0.2), Sample(*second, 0.8)], prior)
    assert more[1] > once[1] + 0.05


def test_every_sample_needs_right_and_wrong_predictions() -> None:
    """A sample without errors is refused, and the message counts them."""
    with pytest.raises(FitError, match="got 0 wrong of 50"):
        fit_near([Sample(np.zeros((50, 1)), np.zeros(50, np.bool_), 1.0)], np.ones(1))


class LogitTap:
    """A tap that returns its inputs as logits, or as what it is told they are."""

    layer, labels, batch = None, None, 100

    def __init__(self, kind: tcuq.stream.Kind = "logits") -> None:
        self.kind = kind

    def run(self, inputs: np.ndarray) -> tuple[np.ndarray, None]:
        """Return the inputs."""
        return inputs, None


def sample(temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """Logits, and labels drawn from their softmax at this temperature."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20_000, 4)) * 3
    noise = rng.gumbel(size=logits.shape)
    return logits, (logits / temperature + noise).argmax(axis=1)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
def test_the_temperature_of_the_labels_is_found(temperature: float) -> None:
    """Labels drawn at a temperature give it back; steps of no class do not count."""
    logits, labels = sample(temperature)
    assert tcuq.fit_temperature(logits, labels) == pytest.approx(temperature, rel=0.03)
    odd = tcuq.fit_temperature(logits[1::2], labels[1::2])
    for none in (-1, -2):
        half = np.where(np.arange(len(labels)) % 2, labels, none)
        assert tcuq.fit_temperature(logits, half) == odd


def test_recording_divides_logits() -> None:
    """The stream holds the scaled logits; probabilities are refused with the next step."""
    logits, _ = sample(1.0)
    scaled = record(LogitTap(), logits, temperature=2.0)
    np.testing.assert_array_equal(scaled.posteriors, logits / 2)
    np.testing.assert_array_equal(record(LogitTap(), logits).posteriors, logits)
    with pytest.raises(InputError, match=r"temperature must be 1 .* record its logits"):
        record(LogitTap("probabilities"), np.full((5, 2), 0.5), temperature=2.0)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("inf"), float("nan")])
def test_wrong_temperatures_are_refused(temperature: float) -> None:
    """A temperature is a positive number."""
    with pytest.raises(InputError, match="temperature must be a positive number, got"):
        record(LogitTap(), sample(1.0)[0], temperature=temperature)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], r"labels must have the shape \(3,\)"),
        ([-1, -2, -1], "labels must be known at one step at least"),
        ([0, 1, 2], r"labels must lie in 0\.\.1, .*got 2"),
    ],
)
def test_wrong_labels_are_refused(labels: list[int], message: str) -> None:
    """Labels are columns of the logits, one per step, and some are known."""
    with pytest.raises(InputError, match=message):
        tcuq.fit_temperature(np.eye(3, 2), labels)
