# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from scipy import stats

from tcuq_benchmark.report.verdict import (
    Comparison,
    fewest_seeds,
    mean_over_sets,
    p_refuted,
    seed_differences,
    t_interval,
    verdict_of,
)

BETTER, WORSE, UNCLEAR = (0.10, 0.11, 0.12), (-0.10, -0.11, -0.12), (0.1, -0.1, 0.2)


def test_differences_are_paired_and_averaged_within_a_seed() -> None:
    """Only conditions that both have count, and each seed gives one difference."""
    ours = {(0, "fog"): 0.9, (0, "blur"): 0.7, (1, "fog"): 0.8, (2, "fog"): 0.5}
    theirs = {(0, "fog"): 0.8, (0, "blur"): 0.4, (1, "fog"): 0.9, (1, "blur"): 0.1}
    assert seed_differences(ours, theirs) == pytest.approx((0.2, -0.1))
    assert seed_differences(ours, theirs, sign=-1) == pytest.approx((-0.2, 0.1))


def test_interval_is_students() -> None:
    """With three seeds the half-width is 4.30 standard errors, as SciPy's t test has it."""
    differences = (0.01, 0.03, 0.05)
    interval = t_interval(differences)
    expected = stats.ttest_1samp(differences, 0.0).confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))


def test_one_seed_has_no_interval() -> None:
    """A single network can neither reproduce nor refute a claim."""
    one = Comparison("", (5.0,))
    assert math.isinf(one.interval().low)
    assert verdict_of({"MNIST": [one]}) == "undecided"
    assert verdict_of({"MNIST": [Comparison("", (-5.0,))]}) == "undecided"


def test_equal_differences_do_not_have_an_interval_of_width_zero() -> None:
    """Rounding to four decimals may hide a spread."""
    assert not Comparison("", (0.0001, 0.0001, 0.0001)).holds


@pytest.mark.parametrize(
    ("groups", "verdict"),
    [
        ([[BETTER], [BETTER]], "reproduced"),
        ([[BETTER], [UNCLEAR]], "undecided"),
        ([[BETTER, BETTER], [BETTER, WORSE]], "refuted"),
        ([[WORSE], [WORSE]], "refuted"),
        ([[BETTER], [()]], "not run yet"),
        ([[WORSE], [()]], "refuted"),
        ([], "not run yet"),
    ],
)
def test_verdict_follows_from_the_comparisons(
    groups: list[list[tuple[float, ...]]], verdict: str
) -> None:
    """All must hold to reproduce; one certain contradiction refutes; a gap leaves it open."""
    named = {str(i): [Comparison("", one) for one in group] for i, group in enumerate(groups)}
    assert verdict_of(named) == verdict


def test_margins_make_a_claim_easier_or_harder() -> None:
    """Non-inferiority allows a loss up to the margin; a claimed gain must be exceeded."""
    slightly_worse = (-0.003, -0.002, -0.001)
    assert verdict_of({"": [Comparison("", slightly_worse, -0.02)]}) == "reproduced"
    assert verdict_of({"": [Comparison("", BETTER, 0.3)]}) == "refuted"


def test_refutation_is_corrected_for_several_comparisons() -> None:
    """A difference that refutes alone does not among twenty rivals, and more sets add up."""
    worse = Comparison("", (-0.10, -0.12, -0.16))
    tie = Comparison("", UNCLEAR)
    assert verdict_of({"MNIST": [worse]}) == "refuted"
    assert verdict_of({"MNIST": [worse, *[tie] * 19]}) == "undecided"
    one = p_refuted({"MNIST": [worse], "speech": [tie]})
    assert p_refuted({"MNIST": [worse], "speech": [worse]}) == pytest.approx(one / 2)


@pytest.mark.parametrize("sets", [1, 3])
def test_errors_are_as_rare_as_stated(sets: int) -> None:
    """Where nothing differs, at most 2.5 % of verdicts are reproduced and 2.5 % refuted."""
    rng = np.random.default_rng(0)
    verdicts = [
        verdict_of(
            {
                str(one): [Comparison("", tuple(rng.normal(size=3))) for _ in range(2)]
                for one in range(sets)
            }
        )
        for _ in range(2_000)
    ]
    for verdict in ("reproduced", "refuted"):
        # The upper 99.9 % limit of a share of 2.5 % in 2,000 draws.
        assert verdicts.count(verdict) <= stats.binom.ppf(0.999, 2_000, 0.025)


def test_mean_over_sets_covers_the_true_mean() -> None:
    """Sets with unequal spread: the interval misses the truth in about 5 % of draws, or fewer."""
    rng = np.random.default_rng(1)
    spreads = np.array([0.01, 0.02, 0.05, 0.1])
    missed = 0
    for _ in range(1_000):
        interval = mean_over_sets(list(rng.normal(size=(4, 3)) * spreads[:, None]))
        missed += not interval.low <= 0 <= interval.high
    assert missed <= stats.binom.ppf(0.999, 1_000, 0.05)


def test_the_page_says_the_smallest_number_of_seeds() -> None:
    """The verdict "undecided" names the seeds of the comparison that has fewest."""
    groups = {"a": [Comparison("", UNCLEAR), Comparison("", (0.1,))], "b": [Comparison("", ())]}
    assert fewest_seeds(groups) == 1
