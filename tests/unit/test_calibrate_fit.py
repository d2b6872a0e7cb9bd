# SPDX-License-Identifier: Apache-2.0
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq import reference
from tcuq.calibrate.streams import FEWEST_STEPS
from tcuq.demo import demo_stream
from tcuq.errors import CalibrationWarning, FitError
from tcuq.options import TERMS
from tcuq.profile.settings import AnchoredScoreSettings, TcuqScoreSettings

Synthetic = Callable[..., tcuq.Stream]
quietly = pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")


def names(profile: tcuq.Profile) -> list[str]:
    """Return the names of a fit's findings."""
    return [finding.name for finding in profile.provenance.findings]


@quietly
@pytest.mark.parametrize("width", [0, 4])
@pytest.mark.parametrize("score", ["anchored", "tcuq"])
def test_features_are_optional(synthetic: Synthetic, width: int, score: Any) -> None:
    """Without features, the signals that need them are absent and the rest works."""
    calibration, development = synthetic(width=width), synthetic(width=width, seed=1)
    paper = tcuq.PaperOptions(score, mode="guarded", warmup=0)
    profile = tcuq.fit(calibration, development, paper=paper)
    assert profile.alarm is not None
    channels = [channel.signal for channel in profile.alarm.channels]
    wanted = ["risk", "novelty", "divergence", "instability"]
    assert channels == (wanted if width else ["risk", "divergence"])
    assert (profile.signals.novelty is None) == (width == 0)
    trace = tcuq.Monitor(profile).run(calibration.posteriors, calibration.features)
    assert 0 < trace.risk.mean() < 1


@quietly
@pytest.mark.parametrize("classes", [2, 1000])
def test_any_number_of_classes(synthetic: Synthetic, classes: int) -> None:
    """The fewest and the most classes allowed are fitted and run."""
    stream = synthetic(400, classes=classes, width=3, kind="logits")
    stream = tcuq.Stream(3 * stream.posteriors, stream.features, kind="logits")
    profile = tcuq.fit(stream)
    trace = tcuq.Monitor(profile).run(stream.posteriors, stream.features)
    assert profile.inputs.classes == classes
    assert trace.label.max() <= classes - 1


@quietly
def test_logits_and_probabilities_decide_alike(synthetic: Synthetic) -> None:
    """The same stream as logits and as probabilities gets the same decisions."""
    traces = []
    for kind in ("logits", "probabilities"):
        stream = synthetic(2000, kind=kind)
        profile = tcuq.fit(stream)
        traces.append(tcuq.Monitor(profile).run(stream.posteriors, stream.features))
    first, second = traces
    for name in ("label", "exceeded", "outcome", "alarm"):
        assert (getattr(first, name) == getattr(second, name)).all()
    assert np.abs(first.risk - second.risk).max() <= 1 / 16384


@quietly
@pytest.mark.parametrize("preset", ["recommended", "paper"])
def test_fit_is_deterministic(synthetic: Synthetic, preset: Any) -> None:
    """The same streams and options give the same profile, to the last bit."""
    streams = synthetic(width=40), synthetic(width=40, seed=1)
    hashes = {tcuq.fit(*streams, preset=preset).sha256 for _ in range(3)}
    assert len(hashes) == 1


@quietly
def test_anchor_keeps_to_alpha(synthetic: Synthetic) -> None:
    """At most alpha of the calibration steps reach the anchor, and one level lower more would."""
    stream = synthetic(5000, width=0)
    for alpha in (0.01, 0.1, 0.5):
        profile = tcuq.fit(stream, alpha=alpha)
        risk = tcuq.Monitor(profile).run(stream.posteriors).risk
        anchor, allowed = profile.threshold.anchor, profile.threshold.alpha_q16 / 65536
        assert (risk >= anchor / 16384).mean() <= allowed < (risk >= (anchor - 1) / 16384).mean()
        assert profile.provenance.figures["threshold.anchor_risk"] == anchor / 16384


@quietly
def test_history_does_not_cross_recordings(synthetic: Synthetic) -> None:
    """The order of the recordings does not change the signals of any of them."""
    rows = synthetic(600, width=0).posteriors
    tables = []
    for order in ([0, 1, 2], [2, 0, 1]):
        joined = np.concatenate([rows[200 * part : 200 * part + 200] for part in order])
        stream = tcuq.Stream(joined, starts=[0, 200, 400])
        score = tcuq.fit(stream, terms=[tcuq.TermPlan("divergence")]).score
        assert isinstance(score, AnchoredScoreSettings)
        tables.append((score.terms[0].points, score.terms[0].bits))
    assert tables[0] == tables[1]


@quietly
def test_labels_of_both_streams_set_the_weights(synthetic: Synthetic) -> None:
    """Labels set the weights, none of them negative; calibration's errors move them, too."""
    calibration, development = synthetic(), synthetic(seed=1)
    score = tcuq.fit(calibration, development).score
    assert isinstance(score, AnchoredScoreSettings)
    assert [term.signal for term in score.terms] == [
        plan.signal for plan in TERMS if plan.signal != "departure"
    ]
    weights = [term.weight for term in score.terms]
    assert max(weights) > 0
    assert min(weights) >= 0
    blank = tcuq.Stream(calibration.posteriors, calibration.features)
    other = tcuq.fit(blank, development).score
    assert isinstance(other, AnchoredScoreSettings)
    assert [term.weight for term in other.terms] != weights


@quietly
def test_steps_out_of_distribution_count_as_errors(synthetic: Synthetic) -> None:
    """In development, label -2 is an error whatever the prediction; calibration refuses it."""
    development = synthetic(2000, seed=1)
    labels = np.asarray(development.labels).copy()
    labels[1000:] = tcuq.OUT_OF_DISTRIBUTION
    outside = tcuq.Stream(development.posteriors, development.features, labels)
    profile = tcuq.fit(synthetic(), outside)
    assert profile.provenance.development is not None
    assert profile.provenance.development.labelled == 2000
    unknown = np.where(labels < 0, -1, labels)
    skipped = tcuq.Stream(development.posteriors, development.features, unknown)
    assert tcuq.fit(synthetic(), skipped).score != profile.score
    with pytest.raises(FitError, match="calibration must be in distribution"):
        tcuq.fit(outside)


@quietly
def test_a_step_as_rare_as_the_expected_error_has_risk_one_half(synthetic: Synthetic) -> None:
    """Without odds among the terms the bias is log2 of the mean doubt of the calibration stream."""
    stream = synthetic()
    score = tcuq.fit(stream, terms=[tcuq.TermPlan("low_confidence")]).score
    assert isinstance(score, AnchoredScoreSettings)
    doubt = 1 - stream.posteriors.max(axis=1).mean()
    assert score.bias == pytest.approx(np.log2(doubt), abs=0.01)


@quietly
@pytest.mark.parametrize(
    ("make", "tolerance"), [(reference.ReferenceMonitor, 0.003), (tcuq.Monitor, 0.01)]
)
def test_where_nothing_surprises_risk_is_the_classifiers_own_doubt(
    synthetic: Synthetic, make: type[tcuq.Monitor | reference.ReferenceMonitor], tolerance: float
) -> None:
    """The odds alone give 1 - confidence, at least 1/256, whatever the calibration stream was."""
    certain = np.linspace(0.5, 1, 200)
    stream = tcuq.Stream(np.column_stack([certain, 1 - certain]))
    calibration = synthetic(classes=2, width=0)
    profile = tcuq.fit(calibration, terms=[TERMS[0]])
    risk = make(profile).run(stream).risk
    assert risk == pytest.approx(np.maximum(1 - certain, 1 / 256), abs=tolerance)


def test_negative_temporal_weight_is_warned_of() -> None:
    """On the bundled streams the free fit has one and warns; monotone signs forbid it."""
    streams = demo_stream("calibration"), demo_stream("development")
    with pytest.warns(CalibrationWarning, match="Negative weights .*instability"):
        free = tcuq.fit(*streams, preset="paper")
    assert "negative_weights" in names(free)
    bounded = tcuq.fit(*streams, preset="paper", paper=tcuq.PaperOptions(signs="monotone"))
    assert names(bounded) == []
    assert isinstance(bounded.score, TcuqScoreSettings)
    assert bounded.score.weights.instability == 0


def test_repeated_steps_are_warned_of(synthetic: Synthetic) -> None:
    """A stream resampled from few steps gets a warning with its distinct steps."""
    short = synthetic(300)
    rows = np.random.default_rng(0).integers(0, 300, 3000)
    stream = tcuq.Stream(short.posteriors[rows], np.asarray(short.features)[rows])
    with pytest.warns(CalibrationWarning) as caught:
        profile = tcuq.fit(stream)
    assert f"Only {stream.distinct} of 3,000 calibration steps are distinct" in str(
        caught[0].message
    )
    sentences = [finding.sentence for finding in profile.provenance.findings]
    assert str(caught[0].message).splitlines() == sentences[:5]
    assert len(caught) == 1
    assert profile.provenance.figures["novelty.independent_blocks"] < 3000 / 16 / 5


def test_short_calibration_is_warned_of(synthetic: Synthetic) -> None:
    """A short calibration's warning gives the remedy; plenty of steps in order give none."""
    with pytest.warns(CalibrationWarning, match="steps would give 100"):
        tcuq.fit(synthetic(600))
    stream = synthetic(20_000, starts=[5000, 10_000, 15_000])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert names(tcuq.fit(stream)) == []


@quietly
def test_provenance_names_the_streams(synthetic: Synthetic) -> None:
    """A profile's provenance has the streams' hashes and sizes and the fit's figures."""
    calibration, development = synthetic(starts=[0, 100]), synthetic(500, seed=1)
    provenance = tcuq.fit(
        calibration, development, alarm=tcuq.AlarmOptions(4096), seed=7
    ).provenance
    assert provenance.development is not None
    assert (provenance.seed, provenance.preset, provenance.library) == (
        7,
        "recommended",
        tcuq.__version__,
    )
    assert provenance.calibration.sha256 == calibration.sha256
    assert (provenance.calibration.steps, provenance.calibration.recordings) == (600, 2)
    assert (provenance.development.sha256, provenance.development.labelled) == (
        development.sha256,
        500,
    )
    assert provenance.figures["alarm.expected_steps_between_false_alarms"] == 4096
    for what in ("autocorrelation_time_steps", "block_steps", "neighbour_correlation"):
        assert np.isfinite(provenance.figures[f"divergence.{what}"])
    fast = provenance.figures["divergence.fastest_alarm_steps_if_4_times_longer"]
    assert 0 < fast <= provenance.figures["divergence.fastest_alarm_steps"]


@quietly
def test_verbose_prints_the_summary(
    synthetic: Synthetic, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fit prints the profile's summary with verbose=True only."""
    profile = tcuq.fit(synthetic(), verbose=True)
    assert capsys.readouterr() == (f"{profile.summary()}\n", "")
    tcuq.fit(synthetic())
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("calibration", "development", "options", "rule"),
    [
        ({"steps": FEWEST_STEPS - 1}, None, {}, "at least 256 steps, got 255"),
        ({}, None, {"preset": "paper"}, 'score="tcuq" needs a development stream'),
        ({}, {"classes": 4}, {}, "development must have classes 3 as calibration, got 4"),
        ({}, {"width": 0}, {}, "development must have width 4 as calibration, got 0"),
        ({}, {"kind": "logits"}, {}, "development must have kind 'probabilities' as calibration"),
        ({"width": 0}, None, {"terms": [tcuq.TermPlan("novelty")]}, "features or classes that are"),
        ({}, {"steps": 99, "labels": None}, {}, "development needs labels"),
        ({}, {"steps": 99, "labels": [-1] * 99}, {}, "development needs labels"),
        ({}, {"steps": 1}, {}, "both right and wrong predictions, got 0 wrong of 1"),
    ],
)  # fmt: skip
def test_unfit_streams_are_refused(
    synthetic: Synthetic, calibration: Any, development: Any, options: Any, rule: str
) -> None:
    """Streams that cannot yield a profile are refused with the reason."""
    second = None if development is None else synthetic(seed=1, **development)
    with pytest.raises(FitError, match=rule):
        tcuq.fit(synthetic(**calibration), second, **options)


@quietly
def test_calibration_is_observed_once(
    synthetic: Synthetic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step enters the signals once, and once more against references fitted without it."""
    from tcuq.calibrate import observe

    engine, steps = observe._engine, []  # noqa: SLF001 - counted below

    class Counted:
        def __init__(self, *settings: Any) -> None:
            self.engine = engine(*settings)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.engine, name)

        def observe(self, rows: Any, *rest: Any) -> Any:
            steps.append(len(rows))
            return self.engine.observe(rows, *rest)

    monkeypatch.setattr(observe, "_engine", Counted)
    stream = synthetic(2000, width=4)
    tcuq.fit(stream)
    assert sum(steps) == 2 * len(stream)
