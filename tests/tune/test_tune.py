# SPDX-License-Identifier: Apache-2.0
"""tcuq tune: its grid, split, limits and front, how it resumes, and what it chooses."""

import itertools
import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tcuq
from tcuq.cli import main
from tcuq.errors import FitError, InputError
from tcuq.evaluation import evaluate as tcuq_evaluate
from tcuq.options import grouped
from tcuq.profile.settings import MAX_STEPS_PER_FALSE_ALARM
from tcuq.tune import Grid, Limits, Trial, pareto_chart, tune
from tcuq.tune.front import FEWEST, Objective, within_limits
from tcuq.tune.trial import TrialRunner, training_part, unshifted, validation_part
from tests.fixtures.healthy_streams import healthy_stream

pytestmark = pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")
SMALL = Grid(lags=((1,), (1, 2)), block_factor=(1,), mix=(0.7,), alpha=(0.05, 0.2), budget=(0.3,))
CANDIDATES = 8
Make = Callable[..., tcuq.Stream]


@pytest.fixture(scope="module")
def stream(synthetic: Make) -> tcuq.Stream:
    """Labelled, in distribution, with errors to learn from."""
    return synthetic(steps=2400, classes=10)


def test_trials_are_fitted_on_the_training_part(
    stream: tcuq.Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trials use the training and validation parts; the final fit uses the whole stream."""
    fitted, evaluated = [], []

    def fit(calibration: tcuq.Stream, *rest: Any, **options: Any) -> tcuq.Profile:
        fitted.append(calibration.sha256)
        return tcuq.fit(calibration, *rest, **options)

    def evaluate(profile: tcuq.Profile, part: tcuq.Stream, **options: Any) -> Any:
        evaluated.append(part.sha256)
        return tcuq_evaluate(profile, part, **options)

    monkeypatch.setattr("tcuq.tune.trial.fit", fit)
    monkeypatch.setattr("tcuq.tune.trial.evaluate", evaluate)
    tuned = tune(stream, tmp_path / "log", grid=SMALL)
    first, gap, last = tuned.steps
    assert first + gap + last == len(stream)
    assert set(fitted[:-1]) == {stream[:first].sha256}
    assert fitted[-1] == stream.sha256
    assert evaluated == [stream[first + gap :].sha256] * CANDIDATES


def test_profile_is_the_fit_of_the_chosen_options(stream: tcuq.Stream, tmp_path: Path) -> None:
    """The profile is a fit of the chosen options on the whole stream; the least cost is first."""
    tuned = tune(stream, tmp_path / "log", grid=SMALL, epoch_steps=1000)
    development = stream if tuned.chosen.options["score"] == "tcuq" else None
    again = tcuq.fit(
        stream, development, **grouped("recommended", {**tuned.chosen.options, "epoch_steps": 1000})
    )
    assert tuned.profile.sha256 == again.sha256
    assert len(tuned.trials) == CANDIDATES
    costs = [tuned.objective.cost(trial) for trial in tuned.trials]
    assert tuned.objective.cost(tuned.front[0]) == min(costs)
    assert max(trial.auroc for trial in tuned.trials) > 0.7


@pytest.mark.parametrize("torn", [False, True])
def test_resumes_after_an_interruption(
    stream: tcuq.Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torn: bool
) -> None:
    """Logged trials are not repeated, even if the last line is cut; the result is the same."""
    whole = tune(stream, tmp_path / "whole", grid=SMALL)
    log, real, runs = tmp_path / "log", TrialRunner.run, []

    def run(runner: TrialRunner, candidate: dict[str, Any]) -> Trial:
        runs.append(candidate)
        if len(runs) == 4:
            raise KeyboardInterrupt
        return real(runner, candidate)

    monkeypatch.setattr(TrialRunner, "run", run)
    with pytest.raises(KeyboardInterrupt):
        tune(stream, log, grid=SMALL)
    if torn:
        log.write_bytes(log.read_bytes()[:-9])
    again = tune(stream, log, grid=SMALL)
    assert len(runs) == 4 + CANDIDATES - 3 + torn
    assert again == whole
    assert log.read_bytes() == (tmp_path / "whole").read_bytes()


def test_other_limits_repeat_no_trial(
    stream: tcuq.Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lower limit or another price needs only the log."""
    log = tmp_path / "log"
    tuned = tune(stream, log, grid=SMALL)
    rams = sorted({trial.ram for trial in tuned.trials})
    monkeypatch.setattr(TrialRunner, "run", lambda *_: pytest.fail("a trial was run again"))
    small = tune(stream, log, grid=SMALL, limits=Limits(ram=rams[0]), price=0.0)
    assert small.chosen.ram == rams[0]
    assert small.chosen.options["alpha"] == 0.2  # abstaining costs nothing
    expensive = tune(stream, log, grid=SMALL, price=1.0)
    assert expensive.chosen.options["alpha"] == 0.05
    with pytest.raises(FitError, match=f"ram by 8 \\(least {rams[0]}\\)"):
        tune(stream, log, grid=SMALL, limits=Limits(ram=10))


def test_a_log_of_another_stream_is_refused(
    stream: tcuq.Stream, synthetic: Make, tmp_path: Path
) -> None:
    """Trials of another stream, damaged lines and a price above 1 are refused."""
    tune(stream, tmp_path / "log", grid=SMALL)
    with pytest.raises(FitError, match="holds trials of another stream"):
        tune(synthetic(steps=2400, seed=1), tmp_path / "log", grid=SMALL)
    with (tmp_path / "log").open("a") as file:
        file.write("{}\n")
    with pytest.raises(FitError, match="line 10 is no trial; remove it"):
        tune(stream, tmp_path / "log", grid=SMALL)
    (tmp_path / "log").write_text('{"stre')  # a header that was cut off: the log starts again
    assert len(tune(stream, tmp_path / "log", grid=SMALL).trials) == CANDIDATES
    with pytest.raises(InputError, match=r"price must lie in 0\.\.1, got 2"):
        tune(stream, tmp_path / "log", price=2)


def test_delay_on_marked_shifts(synthetic: Make, tmp_path: Path) -> None:
    """With marked shifts the delay is measured, and alarms before the shift are false alarms."""
    clean, other = synthetic(steps=6000), synthetic(steps=6000, seed=9)
    late = np.arange(6000) >= 5000
    assert clean.features is not None
    mixed = tcuq.Stream(
        np.where(late[:, None], other.posteriors, clean.posteriors),
        np.where(late[:, None], np.asarray(other.features) + 5, clean.features),
        clean.labels,
        shifted=late,
    )
    tuned = tune(mixed, tmp_path / "log", grid=SMALL, limits=Limits(false_alarms=100))
    assert tuned.chosen.false_alarms == 0
    assert 0 < tuned.chosen.delay < 1000
    assert tuned.profile.provenance.calibration.steps == 5000


def test_from_the_command_line(
    synthetic: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The command writes a profile and a picture, and prints a table or JSON."""
    monkeypatch.chdir(tmp_path)
    synthetic(steps=2400).save("dev.npz")
    synthetic(steps=2400, labels=None).save("plain.npz")
    words = ["--lags", "1", "1,2", "--block-factor", "1", "--alpha", "0.05", "0.2"]
    words += ["--budget", "0.3"]
    assert main(["tune", "dev.npz", "-o", "monitor.json", *words, "--mix", "0.7"]) == 0
    text = capsys.readouterr().out
    assert "no other stream was seen" in text
    assert "\n8 candidates, 0 could not be fitted" in text
    assert "--lags 1" in text
    dots = ET.parse("monitor.tune.svg").getroot().findall("{*}circle")  # noqa: S314 - our own file
    assert 1 <= len(dots) <= CANDIDATES
    assert main(["run", "monitor.json", "dev.npz"]) == 0
    capsys.readouterr()
    assert main(["tune", "plain.npz", "-o", "plain.json", "--json", *words]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["trials"], facts["labelled"]) == (4, False)
    assert main(["tune", "plain.npz", "-o", "plain.json", *words]) == 0
    assert "no labels: " in capsys.readouterr().out


def test_an_infinite_delay_is_drawn(synthetic: Make, tmp_path: Path) -> None:
    """There is a picture even if no channel of any candidate can alarm."""
    stream = synthetic(steps=1200, labels=None)
    tuned = tune(stream, tmp_path / "log", grid=Grid(lags=((1,),), block_factor=(1,)))
    never = replace(tuned.chosen, delay=float("inf"))
    silent = replace(tuned, chosen=never, front=(never,), trials=(never,))
    assert pareto_chart(silent).count("<circle") == 1


def test_order_and_processes_change_nothing(stream: tcuq.Stream, tmp_path: Path) -> None:
    """Trials in reverse order or in two processes give the same result."""

    def backwards(work: Callable[[Any], Trial], candidates: Any) -> list[Trial]:
        return [work(candidate) for candidate in reversed(list(candidates))]

    one = tune(stream, tmp_path / "one", grid=SMALL)
    assert (
        tune(stream, tmp_path / "backwards", grid=SMALL, map_function=backwards).trials
        == one.trials
    )
    stream.save(tmp_path / "s.npz")
    command = ["tune", str(tmp_path / "s.npz"), "--lags", "1", "1,2", "--block-factor", "1"]
    command += ["--mix", "0.7"]
    command += ["--alpha", "0.05", "0.2", "--budget", "0.3", "-o", str(tmp_path / "two.json")]
    assert main([*command, "--processes", "2"]) == 0
    assert tcuq.Profile.load(tmp_path / "two.json").sha256 == one.profile.sha256
    assert main([*command, "--processes", "0"]) == 1


def test_labels_decide_the_grid() -> None:
    """Without labels score, alpha and budget are not tuned, unless values are given."""
    free = Grid().candidates(labelled=False, steps_per_false_alarm=1 << 20)
    assert {(c["score"], c["alpha"], c["budget"]) for c in free} == {("anchored", 0.1, 0.15)}
    requested = Grid(alpha=(0.02, 0.3)).candidates(labelled=False, steps_per_false_alarm=1 << 20)
    assert {c["alpha"] for c in requested} == {0.02, 0.3}
    assert {
        c.get("mix") for c in Grid().candidates(labelled=True, steps_per_false_alarm=1 << 20)
    } == {None, 0.5, 0.7, 0.9}
    with pytest.raises(InputError, match=r"alpha must lie in 1.52588e-05\.\.0\.999985, got 2"):
        Grid(alpha=(2.0,)).candidates(labelled=True, steps_per_false_alarm=1 << 20)


def test_the_parts_are_in_order_and_apart(synthetic: Make) -> None:
    """The validation part begins a gap after the training part ends; no step is in both."""
    stream = synthetic(steps=2000, starts=[0, 700, 1900])
    training, validation = training_part(stream), validation_part(stream, 64)
    assert (len(training), len(validation)) == (1200, 2000 - 1200 - 64)
    assert np.array_equal(training.posteriors, stream.posteriors[:1200])
    assert np.array_equal(validation.posteriors, stream.posteriors[1264:])
    assert validation.starts.tolist() == [0, 1900 - 1264]


def test_a_stream_too_short_is_refused(synthetic: Make) -> None:
    """Both parts hold enough unshifted steps, or the error names the part that does not."""
    with pytest.raises(FitError, match="the training part must hold at least 256 steps"):
        training_part(synthetic(steps=400))
    with pytest.raises(FitError, match="the validation part must hold at least 256 steps"):
        validation_part(synthetic(steps=600), 16)
    with pytest.raises(FitError, match="leaves none of the last 240 steps for validation"):
        validation_part(synthetic(steps=600), 256)
    late = np.arange(2000) > 1300
    with pytest.raises(FitError, match="not shifted, got 37"):
        validation_part(synthetic(steps=2000, shifted=late), 64)


def test_shifted_steps_are_left_out(synthetic: Make) -> None:
    """Shifted steps go, history does not cross the gap, and health stays beside the rest."""
    shifted = np.zeros(600, np.bool_)
    shifted[100:150] = shifted[300:] = True
    stream = synthetic(shifted=shifted, starts=[0, 50])
    rest = unshifted(stream)
    assert np.array_equal(rest.posteriors, stream.posteriors[~shifted])
    assert rest.starts.tolist() == [0, 50, 100]
    assert unshifted(rest) is rest
    stream = healthy_stream(600, seed=2, rough_from=400)
    rest = unshifted(stream)
    assert rest.health is not None
    assert np.array_equal(rest.health, np.asarray(stream.health)[:400])
    assert rest.health_names == stream.health_names


@given(
    st.lists(
        st.tuples(*[st.integers(0, 3)] * 4, st.sampled_from([1.0, 2.0, math.inf])), min_size=1
    ),
    st.booleans(),
)
def test_front_is_not_dominated(
    rows: list[tuple[int, int, int, int, float]], labelled: bool
) -> None:
    """No trial of the front is dominated, each other trial is dominated or equal; best first."""
    trials = [
        Trial({}, ram=a, flash=b, wrong_by_block=(c,), deviation=d, delay=delay)
        for a, b, c, d, delay in rows
    ]
    objective = Objective(labelled, price=0.2)
    measures = {t: objective.measures(trial) for t, trial in enumerate(trials)}
    front = [objective.measures(trial) for trial in objective.front(trials)]
    for one, other in itertools.permutations(front, 2):
        assert any(a < b for a, b in zip(one, other, strict=True))
    for own in measures.values():
        assert any(all(a <= b for a, b in zip(f, own, strict=True)) for f in front)
    assert front[0] == min(measures.values())


def test_choice_within_one_standard_error() -> None:
    """Less RAM wins if its extra cost varies between blocks; not if every block costs more."""
    none = (0.0,) * 4
    best = Trial({}, ram=500, wrong_by_block=(0.1, 0.1, 0.1, 0.1), abstained_by_block=none)
    close = Trial({}, ram=200, wrong_by_block=(0.12, 0.09, 0.12, 0.08), abstained_by_block=none)
    worse = Trial({}, ram=100, wrong_by_block=(0.12, 0.13, 0.12, 0.13), abstained_by_block=none)
    objective = Objective(labelled=True, price=0.2)
    front = objective.front([worse, close, best])
    assert front == [best, close, worse]
    assert objective.choose(front) is close
    assert objective.choose([best, worse]) is best
    assert Objective(labelled=False, price=0.2).choose(front) is best


def test_limits() -> None:
    """The limit of false alarms sets the alarm's promise and bounds the measured rate."""
    assert [Limits(false_alarms=n).h for n in (1.0, 0.95, 1000)] == [20, 21, 10]
    with pytest.raises(InputError, match=r"false_alarms must lie in 0\.06\.\.3906"):
        Limits(false_alarms=0)
    assert 1 << Limits(false_alarms=FEWEST).h == MAX_STEPS_PER_FALSE_ALARM
    trials = [Trial({}, ram=300, flash=9000), Trial({}, ram=200, flash=9000, false_alarms=500.0)]
    assert within_limits(trials, Limits()) == trials[:1]
    with pytest.raises(FitError, match=r"none of 2 .* ram by 1 \(least 200\), false_alarms by"):
        within_limits(trials, Limits(ram=250))
    with pytest.raises(FitError, match="no candidate can be fitted: why"):
        within_limits([Trial({}, error="why")], Limits())
