# SPDX-License-Identifier: Apache-2.0
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import tcuq
from tcuq.demo import demo_stream
from tcuq.evaluate import Evaluation, Measure, as_json, evaluate, lines, lives, run_serviced

pytestmark = pytest.mark.filterwarnings("ignore::tcuq.CalibrationWarning")

Synthetic = Callable[..., tcuq.Stream]
OF_LABELS = {
    "failure AUROC", "failure AUPRC", "area under risk-coverage", "error among accepted",
    "accuracy-drop AUPRC", "NLL", "Brier", "Brier / classes", "ECE",
}  # fmt: skip
OF_SHIFTS = {"shift AUROC", "shift AUPRC", "detection delay, median steps", "shifts missed"}
OF_STREAMS = {
    "exceedance deviation from alpha", "exceedances, worst window", "abstentions",
    "abstentions, worst window", "false alarms per million steps",
}  # fmt: skip


def names(found: Evaluation) -> set[str]:
    """The measures there are."""
    return {measure.name for measure in found.measures}


@pytest.fixture(scope="module")
def faulty(profile: tcuq.Profile) -> Evaluation:
    """The recommended profile on a faulty stream."""
    return evaluate(profile, demo_stream("fault_gain"), rounds=30)


def test_everything_is_measured(faulty: Evaluation) -> None:
    """With labels and shifts, every measure is there, once."""
    assert names(faulty) == OF_LABELS | OF_SHIFTS | OF_STREAMS
    assert len(faulty.measures) == len(names(faulty))


def test_every_measure_has_dummies(faulty: Evaluation) -> None:
    """No value stands without what a monitor that knows nothing would have scored."""
    for measure in faulty.measures:
        assert {"always", "never"} <= set(measure.dummies) or set(measure.dummies) == {"uniform"}


def test_every_interval_holds_its_value(faulty: Evaluation) -> None:
    """Where there is an interval it is one, and most hold the value."""
    whole = [measure for measure in faulty.measures if math.isfinite(measure.low)]
    assert len(whole) >= 14
    assert all(measure.low <= measure.high for measure in whole)
    assert sum(measure.low <= measure.value <= measure.high for measure in whole) >= 12


def test_values_are_the_trace_s(profile: tcuq.Profile, test_stream: tcuq.Stream) -> None:
    """Measures are of the labelled steps of the trace that is given with them."""
    found = evaluate(profile, test_stream, rounds=0)
    assert test_stream.labels is not None
    known = test_stream.labels >= 0
    wrong = (found.trace.label != test_stream.labels)[known]
    assert found["failure AUROC"].value == roc_auc_score(wrong, found.trace.risk[known])
    accepted = found.trace.outcome[known] == tcuq.Outcome.ACCEPT
    assert found["error among accepted"].value == pytest.approx(wrong[accepted].mean())
    assert found["error among accepted"].dummies["never"] == pytest.approx(wrong.mean())
    abstained = (found.trace.outcome == tcuq.Outcome.ABSTAIN).mean()
    assert found["abstentions"].value == pytest.approx(abstained)
    assert found["false alarms per million steps"].value == 0
    assert found["false alarms per million steps"].note.startswith("0 in 3,031 steps")


def test_false_alarm_interval_is_poissons(faulty: Evaluation) -> None:
    """With none seen, the upper end is 3.69 a stream: where 2.5 % of Poisson counts are none."""
    measure = faulty["false alarms per million steps"]
    steps = int(measure.note.split()[2].replace(",", ""))
    assert (measure.value, measure.low) == (0, 0)
    assert measure.high * steps / 1e6 == pytest.approx(-math.log(0.025))


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("shifted", [None, "no", "some", "all"])
def test_measures_without_their_columns_are_left_out(
    synthetic: Synthetic, labelled: bool, shifted: str | None
) -> None:
    """What needs labels or shifts is left out where they are not there; nothing else is."""
    marks = {None: None, "no": np.zeros(600), "some": np.arange(600) >= 300, "all": np.ones(600)}
    given = marks[shifted]
    columns: dict[str, Any] = {} if labelled else {"labels": None}
    if given is not None:
        columns["shifted"] = given.astype(bool)
    profile = tcuq.fit(synthetic())
    found = names(evaluate(profile, synthetic(seed=1, **columns), rounds=0))
    assert bool(found & {"failure AUROC"}) == labelled
    assert bool(found & {"NLL"}) == (labelled and shifted != "all")
    assert bool(found & {"shifts missed"}) == (shifted in ("some", "all"))
    assert bool(found & {"shift AUROC"}) == (labelled and shifted == "some")
    assert bool(found & OF_STREAMS) == (shifted != "all")


def test_unknown_labels_are_no_labels(synthetic: Synthetic) -> None:
    """A stream whose labels are all unknown has no failures to measure."""
    profile = tcuq.fit(synthetic())
    stream = synthetic(seed=1, labels=np.full(600, -1))
    assert names(evaluate(profile, stream, rounds=0)) == OF_STREAMS


def test_without_an_alarm_none_is_measured(synthetic: Synthetic) -> None:
    """A profile without an alarm has no delays and no false alarms."""
    profile = tcuq.fit(synthetic(), h=None)
    stream = synthetic(seed=1, shifted=np.arange(600) > 300)
    found = names(evaluate(profile, stream, rounds=0))
    assert not found & {"shifts missed", "false alarms per million steps"}
    assert "shift AUROC" in found


def test_same_seed_gives_the_same_measures(profile: tcuq.Profile) -> None:
    """The seed decides the intervals and the random dummy, and nothing else does."""
    stream = demo_stream("fault_bias")
    first, again, other = (
        as_json(evaluate(profile, stream, rounds=5, seed=seed))["measures"] for seed in (1, 1, 2)
    )
    assert first == again != other
    assert all(first[name]["value"] == other[name]["value"] for name in first)


def test_monitor_is_serviced_after_a_shift(synthetic: Synthetic) -> None:
    """Where a recording after a shift begins unshifted, the monitor starts anew."""
    looks_back = [tcuq.TermPlan("divergence"), tcuq.TermPlan("novelty", ewma=4)]
    profile = tcuq.fit(synthetic(), terms=looks_back)
    shifted = (np.arange(600) >= 100) & (np.arange(600) < 200)
    stream = synthetic(seed=1, starts=[0, 200, 400], shifted=shifted)
    trace = run_serviced(profile, stream)
    first, *rest = stream.parts()
    monitor = tcuq.Monitor(profile)
    assert (monitor.run(first.posteriors, first.features).risk == trace.risk[:200]).all()
    monitor.reset()
    after = [monitor.run(p.posteriors, p.features, starts=[0]) for p in rest]
    for name in tcuq.Trace.__slots__:
        joined = np.concatenate([getattr(part, name) for part in after])
        assert (joined == getattr(trace, name)[200:]).all(), name


def test_the_device_is_evaluated_if_asked_for(profile: tcuq.Profile) -> None:
    """The trace measured is the device's, one life of it after the other."""
    stream = demo_stream("fault_bias")
    found = evaluate(profile, stream, rounds=0, engine=tcuq.Monitor)
    assert len(lives(stream)) > 1
    for begin, end in lives(stream):
        trace = tcuq.Monitor(profile).run(stream.cut(begin, end))
        assert (trace.risk == found.trace.risk[begin:end]).all()


@pytest.mark.parametrize("options", [{"window": 0}, {"window": -5}, {"rounds": -1}])
def test_bad_options_are_refused(profile: tcuq.Profile, options: Any) -> None:
    """The message says the rule and the values."""
    with pytest.raises(tcuq.InputError, match="must be at least"):
        evaluate(profile, demo_stream("test"), **options)


def test_table_and_json_say_the_same(faulty: Evaluation) -> None:
    """A header, then a line for each measure; JSON holds the numbers, null where there is none."""
    rows = list(lines(faulty))
    assert len(rows) == len(faulty.measures) + 1
    document = json.loads(json.dumps(as_json(faulty), allow_nan=False))
    found = document["measures"]
    assert document["risk_coverage"][-1][0] == 1
    for row, measure in zip(rows[1:], faulty.measures, strict=True):
        assert row.startswith(measure.name)
        assert found[measure.name]["value"] == pytest.approx(measure.value)
    assert found["exceedances, worst window"]["interval"] == [None, None]


def test_odd_values_are_shown_in_words(faulty: Evaluation) -> None:
    """What does not exist is a dash, what never comes is `never`, large numbers have commas."""
    odd = Measure("odd", math.nan, math.nan, math.nan, {"never": math.inf, "always": 12345.6})
    row = list(lines(Evaluation((odd,), (), faulty.trace)))[1]
    assert row.split() == ["odd", "–", "never", "never,", "always", "12,346"]
