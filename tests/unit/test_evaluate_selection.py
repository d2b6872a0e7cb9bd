# SPDX-License-Identifier: Apache-2.0
import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.demo import demo_stream
from tcuq.evaluation import Comparison, Selection, compare, evaluate, lines
from tcuq.evaluation.selection import FIGURE
from tcuq.stages.inputs import probabilities


def confidence_of(profile: tcuq.Profile, stream: tcuq.Stream) -> np.ndarray:
    """Return the largest probability of every step."""
    confidence: np.ndarray = probabilities(stream.posteriors, profile.inputs.kind).max(axis=1)
    return confidence


@pytest.fixture(scope="module")
def without_figure(profile: tcuq.Profile, altered: Callable[..., dict[str, Any]]) -> tcuq.Profile:
    """The profile as if it had been fitted before the figure existed."""
    figures = {n: v for n, v in profile.provenance.figures.items() if n != FIGURE}
    return tcuq.Profile.from_json(json.dumps(altered(profile, "provenance.figures", figures)))


@pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.4])
def test_softmax_threshold_withholds_alpha_of_calibration(alpha: float) -> None:
    """On the calibration stream it withholds at most alpha, and one step more would be over."""
    stream = demo_stream("calibration")
    profile = tcuq.fit(stream, alpha=alpha)
    confidence, threshold = confidence_of(profile, stream), profile.provenance.figures[FIGURE]
    exact = profile.threshold.alpha_q16 / 65536
    assert (confidence < threshold).mean() <= exact < (confidence <= threshold).mean()


def test_comparison_is_of_the_same_steps(profile: tcuq.Profile, test_stream: tcuq.Stream) -> None:
    """Withheld over all steps and the error among accepted, labelled ones, for both."""
    trace = tcuq.Monitor(profile).run(test_stream)
    comparison = compare(profile, test_stream, trace)
    assert test_stream.labels is not None
    known, wrong = test_stream.labels >= 0, trace.label != test_stream.labels
    threshold = profile.provenance.figures[FIGURE]
    softmax = confidence_of(profile, test_stream) >= threshold
    monitor = trace.outcome == tcuq.Outcome.ACCEPT
    assert comparison.softmax is not None
    for part, accepted in ((comparison.monitor, monitor), (comparison.softmax, softmax)):
        assert part.withheld == pytest.approx(1 - accepted.mean())
        assert part.error == pytest.approx(wrong[accepted & known].mean())


def test_some_steps_are_compared_alone(profile: tcuq.Profile) -> None:
    """With a mask, only its steps count."""
    stream = demo_stream("fault_clipping")
    assert stream.shifted is not None
    trace = tcuq.Monitor(profile).run(stream)
    withheld = trace.outcome != tcuq.Outcome.ACCEPT
    comparison = compare(profile, stream, trace, stream.shifted)
    assert comparison.monitor.withheld == pytest.approx(withheld[stream.shifted].mean())


def test_profile_without_the_figure_says_so(
    without_figure: tcuq.Profile, test_stream: tcuq.Stream
) -> None:
    """The sentence names what is missing and the next step; the baseline is a dash."""
    evaluation = evaluate(without_figure, test_stream, rounds=0)
    assert evaluation.comparison.softmax is None
    assert evaluation.comparison.sentence.endswith(f"({FIGURE}): fit it again to compare.")
    row = next(line for line in lines(evaluation) if line.startswith("withheld "))
    assert row.split()[-3:] == ["–", "1", "0"]


def test_sentence_with_and_without_labels(profile: tcuq.Profile, test_stream: tcuq.Stream) -> None:
    """The sentence has the errors where labels are known, else that they are unknown."""
    sentence = Comparison(Selection(0.156, 0.041), Selection(0.1, 0.05), labelled=True).sentence
    assert sentence == (
        "The monitor withheld 15.6% of predictions, and 4.1% of the accepted ones are wrong;"
        " a softmax threshold would have withheld 10.0%, with 5.0% of its accepted ones wrong."
    )
    compared = compare(profile, test_stream, tcuq.Monitor(profile).run(test_stream))
    bare = dataclasses.replace(compared, monitor=Selection(1.0, float("nan")))
    assert compared.denied > 0
    assert bare.sentence.startswith(
        f"The monitor withheld 100.0% of predictions ({compared.denied:.1%} beyond its budget);"
    )
    beyond = Comparison(Selection(0.3, 0.1), None, labelled=True, denied=0.15).sentence
    assert beyond.startswith("The monitor withheld 30.0% of predictions (15.0% beyond its budget),")
    stream = tcuq.Stream(test_stream.posteriors, test_stream.features, starts=test_stream.starts)
    unlabelled = evaluate(profile, stream, rounds=0).comparison.sentence
    assert "unknown: the stream has no labels" in unlabelled
    assert "wrong;" not in unlabelled
