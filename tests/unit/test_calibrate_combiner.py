# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from numpy.typing import NDArray

from tcuq.calibrate.combiner import Sample, fit_logistic, fit_near
from tcuq.errors import FitError

Floats = NDArray[np.float64]


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


def test_weights_are_near_the_truth() -> None:
    """The fit recovers the weights that generated the errors; balancing moves the bias alone."""
    signals, wrong = observed([1.0, 2.0, 0.0])
    weights, _ = fit_logistic(signals, wrong, "free")
    assert weights == pytest.approx([1.0, 2.0, 0.0], abs=0.25)


def test_rare_errors_weigh_as_much_as_successes() -> None:
    """Classes are balanced: without any signal, the bias gives even odds."""
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


def test_without_evidence_the_prior_weights_stay() -> None:
    """Signals that are always 0 leave the weights at the prior ones."""
    prior = np.array([1.0, 0.25])
    sample = Sample(np.zeros((1000, 2)), np.arange(1000) < 50, 1.0)
    weights, bias = fit_near([sample], prior)
    assert weights == pytest.approx(prior, abs=1e-6)
    assert bias == pytest.approx(0, abs=1e-4)


def test_evidence_moves_weights_from_the_prior_but_not_below_zero() -> None:
    """A signal that goes with errors gains weight; one that goes against them ends at 0."""
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
