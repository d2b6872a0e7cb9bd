# SPDX-License-Identifier: Apache-2.0
"""Evaluations: which measures a stream gives, and the comparison with a softmax threshold."""

import dataclasses
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import tcuq
from tcuq.demo import demo_stream
from tcuq.errors import InputError
from tcuq.evaluation import Comparison, Evaluation, Rival, as_json, compare, evaluate, lines
from tcuq.evaluation.bootstrap import Interval
from tcuq.evaluation.evaluation import short
from tcuq.evaluation.selection import error_at_coverage, errors_among
from tcuq.profile.settings import TEMPERATURE
from tcuq.stages.inputs import probabilities

pytestmark = pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")
Synthetic = Callable[..., tcuq.Stream]
OF_LABELS = {
    "failure AUROC", "failure AUPRC", "area under risk-coverage", "error among accepted",
    "accuracy-drop AUPRC", "estimated accuracy", "NLL", "Brier", "Brier / classes", "ECE",
}  # fmt: skip
OF_ALL = {"withheld", "coverage"}
OF_SHIFTS = {
    "shift AUROC", "shift AUPRC", "detection delay", "shifts missed", "late alarms",
}  # fmt: skip
OF_STREAMS = {
    "deviation from alpha", "exceedances, worst window", "abstentions",
    "abstentions, worst window", "false alarms per million",
}  # fmt: skip


def names(evaluation: Evaluation) -> set[str]:
    """Return the names of the measures."""
    return {measure.name for measure in evaluation.measures}


@pytest.fixture(scope="module")
def faulty(profile: tcuq.Profile) -> Evaluation:
    """The recommended profile on a faulty stream."""
    return evaluate(profile, demo_stream("fault_clipping"), rounds=30)


def test_everything_is_measured(faulty: Evaluation) -> None:
    """Every measure is there once, beside the scores of monitors that ignore the stream."""
    with pytest.raises(KeyError, match="nothing"):
        faulty["nothing"]
    assert names(faulty) == OF_ALL | OF_LABELS | OF_SHIFTS | OF_STREAMS
    assert len(faulty.measures) == len(names(faulty))
    for measure in faulty.measures:
        words = set(measure.baselines)
        assert {"always", "never"} <= words or words == {"uniform"}, measure.name


def test_every_interval_holds_its_value(profile: tcuq.Profile, test_stream: tcuq.Stream) -> None:
    """All but maxima and too few events have an interval, with a width; most hold the value."""
    measures = evaluate(profile, test_stream, rounds=30).measures
    whole = [measure for measure in measures if not measure.interval.reason]
    assert all(
        "maximum" in m.interval.reason or "only" in m.interval.reason
        for m in measures
        if m not in whole
    )
    assert len(whole) > 3 * (len(measures) - len(whole))
    assert all(measure.interval.low < measure.interval.high for measure in whole)
    assert (
        sum(measure.interval.low <= measure.value <= measure.interval.high for measure in whole)
        >= len(whole) - 2
    )


def test_every_interval_is_there_or_has_a_reason(faulty: Evaluation, profile: tcuq.Profile) -> None:
    """Too few shifts or blocks, or a maximum, are reasons; false alarms have a Poisson interval."""
    for measure in faulty.measures:
        missing = math.isnan(measure.interval.low)
        assert missing == math.isnan(measure.interval.high) == bool(measure.interval.reason)
    assert faulty["detection delay"].interval.reason.startswith("only 2 shifts;")
    assert "maximum" in faulty["exceedances, worst window"].interval.reason
    calm = evaluate(profile, demo_stream("fault_dropout"), rounds=0)  # no false alarm
    measure = calm["false alarms per million"]
    steps = int(measure.note.split()[2].replace(",", ""))
    assert (measure.value, measure.interval.low) == (0, 0)
    assert measure.interval.high * steps / 1e6 == pytest.approx(-math.log(0.025))


def test_few_errors_give_no_interval(synthetic: Synthetic) -> None:
    """With four errors, an error rate has no interval."""
    calibration, stream = synthetic(), synthetic(2000, seed=1)
    profile = tcuq.fit(calibration)
    labels = stream.posteriors.argmax(axis=1)
    labels[:2000:500] = (labels[:2000:500] + 1) % 3
    few = tcuq.Stream(stream.posteriors, stream.features, labels)
    evaluation = evaluate(profile, few, rounds=20)
    assert evaluation["failure AUROC"].interval.reason == (
        "only 4 errors; an interval needs at least 5"
    )
    assert evaluation["withheld"].interval.reason == ""
    short = evaluate(profile, stream[:12], rounds=20)["withheld"]
    assert "steps hold fewer than 5 bootstrap blocks" in short.interval.reason


def test_values_are_the_trace_s(profile: tcuq.Profile, test_stream: tcuq.Stream) -> None:
    """Measures equal those of the labelled steps of the returned trace."""
    evaluation = evaluate(profile, test_stream, rounds=0)
    assert test_stream.labels is not None
    known = test_stream.labels >= 0
    wrong = (evaluation.trace.label != test_stream.labels)[known]
    assert evaluation["failure AUROC"].value == roc_auc_score(wrong, evaluation.trace.risk[known])
    accepted = evaluation.trace.outcome[known] == tcuq.Outcome.ACCEPT
    assert evaluation["error among accepted"].value == pytest.approx(wrong[accepted].mean())
    assert evaluation["error among accepted"].baselines["never"] == pytest.approx(wrong.mean())
    withheld = (evaluation.trace.outcome != tcuq.Outcome.ACCEPT).mean()
    assert evaluation["withheld"].value == pytest.approx(withheld)
    assert evaluation["coverage"].value == pytest.approx(1 - withheld)
    abstained = (evaluation.trace.outcome == tcuq.Outcome.ABSTAIN).mean()
    assert evaluation["abstentions"].value == pytest.approx(abstained)
    assert evaluation["false alarms per million"].value == 0
    assert evaluation["false alarms per million"].note.startswith("0 in 1,920 steps")


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("shifted", [None, "no", "some", "all"])
def test_measures_without_their_columns_are_left_out(
    synthetic: Synthetic, labelled: bool, shifted: str | None
) -> None:
    """Only measures that need labels or shifts are left out without them."""
    marks = {None: None, "no": np.zeros(600), "some": np.arange(600) >= 300, "all": np.ones(600)}
    marked = marks[shifted]
    columns: dict[str, Any] = {} if labelled else {"labels": None}
    if marked is not None:
        columns["shifted"] = marked.astype(bool)
    profile = tcuq.fit(synthetic())
    evaluation = names(evaluate(profile, synthetic(seed=1, **columns), rounds=0))
    assert bool(evaluation & {"failure AUROC"}) == labelled
    assert bool(evaluation & {"NLL"}) == (labelled and shifted != "all")
    assert bool(evaluation & {"shifts missed"}) == (shifted in ("some", "all"))
    assert bool(evaluation & {"shift AUROC"}) == (labelled and shifted == "some")
    assert bool(evaluation & OF_STREAMS) == (shifted != "all")


def test_unknown_labels_and_no_alarm_leave_measures_out(synthetic: Synthetic) -> None:
    """Unknown labels give no failures to measure, no alarm no delays and no false alarms."""
    profile = tcuq.fit(synthetic())
    stream = synthetic(seed=1, labels=np.full(600, -1))
    assert names(evaluate(profile, stream, rounds=0)) == OF_ALL | OF_STREAMS
    profile = tcuq.fit(synthetic(), alarm=False)
    stream = synthetic(seed=1, shifted=np.arange(600) > 300)
    evaluation = names(evaluate(profile, stream, rounds=0))
    assert not evaluation & {"shifts missed", "false alarms per million"}
    assert "shift AUROC" in evaluation


def test_steps_out_of_distribution_are_errors_and_shifted(synthetic: Synthetic) -> None:
    """Label -2 makes every prediction wrong, and the classifier's own measures leave it out."""
    profile = tcuq.fit(synthetic())
    stream = synthetic(1000, seed=1)
    labels = np.asarray(stream.labels).copy()
    labels[500:] = tcuq.OUT_OF_DISTRIBUTION
    outside = tcuq.Stream(stream.posteriors, stream.features, labels)
    evaluation = evaluate(profile, outside, rounds=0)
    accepted = evaluation.trace.outcome == tcuq.Outcome.ACCEPT
    wrong = evaluation.trace.label != labels
    assert wrong[500:].all()
    assert evaluation["error among accepted"].value == pytest.approx(wrong[accepted].mean())
    assert "shift AUROC" in names(evaluation)
    first = evaluate(profile, outside[:500], rounds=0)
    assert evaluation["NLL"].value == pytest.approx(first["NLL"].value)


def test_same_seed_gives_the_same_measures(profile: tcuq.Profile) -> None:
    """The seed decides the intervals, and nothing else does."""
    stream = demo_stream("fault_offset")
    first, again, other = (
        as_json(evaluate(profile, stream, rounds=5, seed=seed))["measures"] for seed in (1, 1, 2)
    )
    assert first == again != other
    assert all(first[name]["value"] == other[name]["value"] for name in first)


def test_a_stream_is_run_once_without_resets(profile: tcuq.Profile) -> None:
    """The trace is that of one monitor over the whole stream, also after a shift has ended."""
    stream = demo_stream("fault_offset")
    trace = evaluate(profile, stream, rounds=0).trace
    plain = tcuq.Monitor(profile).run(stream)
    for name in tcuq.Trace.__slots__:
        assert (getattr(trace, name) == getattr(plain, name)).all(), name


def test_alarms_right_after_a_shift_are_late_not_false(synthetic: Synthetic) -> None:
    """Within the longest block after a shift, an alarm is counted apart from false alarms."""
    profile = tcuq.fit(synthetic(2000), alarm=tcuq.AlarmOptions(256))
    assert profile.alarm is not None
    block = max(channel.block for channel in profile.alarm.channels)
    calm, odd = synthetic(1500, seed=1), synthetic(1500, seed=2)

    def shifted_until(end: int) -> tcuq.Stream:
        shifted = (np.arange(1500) >= 300) & (np.arange(1500) < end)
        features = np.where(
            shifted[:, None], 40 + 40 * np.asarray(odd.features), np.asarray(calm.features)
        )
        return tcuq.Stream(calm.posteriors, features, calm.labels, shifted=shifted)

    first = int(np.flatnonzero(tcuq.Monitor(profile).run(shifted_until(900)).alarm[300:])[0]) + 300
    end = first - 2  # the shift is over before the block that raises the alarm
    stream = shifted_until(end)
    evaluation = evaluate(profile, stream, rounds=0)
    alarms = np.flatnonzero(evaluation.trace.alarm)
    late = ((alarms >= end) & (alarms < end + block)).sum()
    assert late > 0
    assert evaluation["late alarms"].value == late
    assert stream.shifted is not None
    steps = int((~stream.shifted).sum()) - block
    outside = ((alarms < 300) | (alarms >= end + block)).sum()
    assert evaluation["false alarms per million"].value == pytest.approx(1e6 * outside / steps)


@pytest.mark.parametrize("options", [{"window": 0}, {"window": -5}, {"rounds": -1}])
def test_bad_options_are_refused(profile: tcuq.Profile, options: Any) -> None:
    """The message says the rule and the values."""
    with pytest.raises(InputError, match="must be at least"):
        evaluate(profile, demo_stream("test"), **options)


def test_table_and_json_agree(faulty: Evaluation) -> None:
    """A row per measure, odd values in words; JSON holds numbers, or null and the reason."""
    rows = list(lines(faulty))
    document = json.loads(json.dumps(as_json(faulty), allow_nan=False))
    assert list(document["risk_coverage"]) == ["monitor", "softmax", "scaled"]
    assert all(curve[-1][0] == 1 for curve in document["risk_coverage"].values())
    for measure in faulty.measures:
        assert sum(row.startswith(f"{measure.name:<26}") for row in rows) == 1
        evaluation = document["measures"][measure.name]
        assert evaluation["value"] == pytest.approx(measure.value)
        assert evaluation["reason"] == measure.interval.reason
        assert (evaluation["interval"][0] is None) == bool(measure.interval.reason)
    shown = [short(v) for v in (math.nan, math.inf, 12345.6, 1e6, 0.00012, 1e-6, 0.5, 1.0, 3.14159)]
    assert shown == ["–", "∞", "12,346", "1M", "0.0001", "1e-06", "0.5", "1", "3.142"]


@pytest.mark.parametrize("name", ["test", "fault_clipping", "fault_noise_low"])
def test_table_is_at_most_80_columns_wide(profile: tcuq.Profile, name: str) -> None:
    """No line of the text is wider, and numbers do not run into each other."""
    rows = list(lines(evaluate(profile, demo_stream(name), rounds=10)))
    assert max(map(len, rows)) <= 80
    header = next(row for row in rows if row.startswith("measure"))
    edges = [header.index(word) + len(word) for word in ("softmax", "scaled", "always", "never")]
    for row in rows[rows.index(header) + 1 : rows.index("", rows.index(header))]:
        assert all(row[edge - 7 : edge - 6] in (" ", "") for edge in edges), row


@pytest.mark.parametrize("count", [0, 1, 3, 5, 8])
def test_equally_sure_steps_share_their_errors(count: int) -> None:
    """Of tied steps each is as likely to be accepted; the order of steps does not matter."""
    wrong = np.array([1, 0, 0, 1, 1, 0, 1, 1], np.bool_)
    doubt = np.array([0.1, 0.2, 0.2, 0.2, 0.3, 0.3, 0.9, 0.9])
    expected = {0: 0.0, 1: 1.0, 3: 1 + 2 / 3, 5: 2.5, 8: 5.0}[count]
    for order in (np.arange(8), np.arange(8)[::-1]):
        assert errors_among(wrong[order], doubt[order], count) == pytest.approx(expected)
    accepted = np.arange(8) < count
    error = error_at_coverage(wrong, doubt, accepted)
    assert error == pytest.approx(expected / count) if count else math.isnan(error)


def test_rivals_accept_as_many_as_the_monitor(
    profile: tcuq.Profile, test_stream: tcuq.Stream
) -> None:
    """All choose the same number among labelled steps, in a mask or in the whole stream."""
    faulty = demo_stream("fault_clipping")
    for stream, mask in ((test_stream, None), (faulty, faulty.shifted)):
        trace = tcuq.Monitor(profile).run(stream)
        comparison = compare(profile, stream, trace, mask, rounds=20)
        at = np.ones(len(stream), np.bool_) if mask is None else mask
        accepted = at & (trace.outcome == tcuq.Outcome.ACCEPT)
        wrong = trace.label != stream.labels
        assert comparison.coverage == pytest.approx(accepted.sum() / at.sum())
        assert comparison.error == pytest.approx(wrong[accepted].mean())
        confidence = probabilities(stream.posteriors, stream.kind).max(axis=1)[at]
        surest = np.sort(confidence)[-int(accepted.sum()) :]
        theirs, softmax = wrong[at][confidence > surest[0]].sum(), comparison.rivals["softmax"]
        assert theirs <= softmax.error * accepted.sum() + 1e-9
        assert softmax.gap == pytest.approx(comparison.error - softmax.error)
        assert set(comparison.rivals) == {"softmax", "scaled"}


def test_temperature_scaling_needs_labels_of_calibration(synthetic: Synthetic) -> None:
    """With them the profile holds the temperature; without, that rival is left out."""
    labelled, bare = synthetic(), synthetic(labels=None)
    assert labelled.labels is not None
    assert tcuq.fit(labelled).provenance.figures[TEMPERATURE] == pytest.approx(
        tcuq.fit_temperature(np.log(np.maximum(labelled.posteriors, 1 / 512)), labelled.labels)
    )
    profile = tcuq.fit(bare)
    assert TEMPERATURE not in profile.provenance.figures
    evaluation = evaluate(profile, synthetic(seed=1), rounds=0)
    assert (
        set(evaluation.comparison.rivals)
        == {"softmax"}
        == set(evaluation.risk_coverage) - {"monitor"}
    )


def _withheld(stream: tcuq.Stream, profile: tcuq.Profile) -> tcuq.Trace:
    trace = tcuq.Monitor(profile).run(stream)
    return dataclasses.replace(trace, withheld=np.ones(len(trace), np.bool_))


def test_sentence_with_and_without_labels(profile: tcuq.Profile, test_stream: tcuq.Stream) -> None:
    """The sentence has the errors at equal coverage where labels are known."""
    rivals = {
        "softmax": Rival(0.05, -0.009, Interval(-0.014, -0.004)),
        "scaled": Rival(0.048, -0.007, Interval(reason="none")),
    }
    assert Comparison(0.844, 0.041, rivals).sentence == (
        "The monitor accepted 84.4% of predictions, of which 4.1% are wrong; of as many chosen by a"
        " softmax threshold, 5.0% (difference -0.9 points, 95% -1.4 to -0.4), and after temperature"
        " scaling 4.8%."
    )
    nothing = compare(profile, test_stream, _withheld(test_stream, profile), rounds=0)
    assert nothing.sentence == "The monitor accepted none of the predictions."
    assert math.isnan(nothing.error)
    assert all(math.isnan(rival.error) for rival in nothing.rivals.values())
    stream = tcuq.Stream(test_stream.posteriors, test_stream.features, starts=test_stream.starts)
    unlabelled = evaluate(profile, stream, rounds=0).comparison
    assert unlabelled.rivals == {}
    assert unlabelled.sentence.endswith(
        "of predictions; without labels it is unknown how many of them are wrong."
    )
