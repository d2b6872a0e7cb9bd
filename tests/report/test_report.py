# SPDX-License-Identifier: Apache-2.0
"""The report's statements agree with the trace."""

import base64
import dataclasses
import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tcuq
from tcuq.cli import main
from tcuq.demo import demo_stream
from tcuq.errors import InputError
from tcuq.firmware.footprint import WORD
from tcuq.firmware.header import size_of
from tcuq.monitor import Monitor
from tcuq.profile.settings import RISK_LEVELS
from tcuq.reports import report, timeline
from tcuq.reports.missed import confusion_text, confusions, drops, drops_text, missed_runs
from tcuq.reports.profiles import costs, ram_parts
from tcuq.reports.promises import promises
from tcuq.reports.view import MAX_PROFILES, View, views
from tcuq.stages.budget import Outcome
from tests.fixtures.healthy_streams import ROUGH, health_profile, healthy_stream


@pytest.fixture(scope="module")
def view(profile: tcuq.Profile) -> View:
    """Return the view of the demo's profile on the fault with the most accepted errors."""
    return views({"a": profile}, demo_stream("fault_microphone"), window=100, rounds=0)[0]


def column(packed: str, dtype: str) -> np.ndarray:
    """Decode a column as the page's script does."""
    return np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype)


def test_timeline_holds_every_step(view: View) -> None:
    """With one cell per step, the risk, threshold and outcomes are the trace's."""
    result = timeline.timeline(view, 1)
    assert result["size"] == 1
    trace, columns = view.trace, result["columns"]
    assert (column(columns["risk"], "<u2") == np.rint(trace.risk * RISK_LEVELS)).all()
    level = np.rint(trace.threshold * RISK_LEVELS)
    assert (column(columns["threshold"], "<u2") == np.clip(level, 0, RISK_LEVELS)).all()
    flags = column(columns["flags"], "u1")
    for flag, at in (
        (timeline.Flag.ABSTAINED, trace.outcome == Outcome.ABSTAIN),
        (timeline.Flag.DENIED, trace.outcome == Outcome.DENIED),
        (timeline.Flag.ALARMED, trace.alarm > 0),
        (timeline.Flag.MISSED, (trace.outcome == Outcome.ACCEPT) & view.wrong),
    ):
        assert ((flags & flag > 0) == at).all()


def test_longer_streams_keep_extremes(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell of several steps has their lowest, mean and highest risk, and any flag."""
    monkeypatch.setattr(timeline, "PAGE_BYTES", 5000)
    result = timeline.timeline(view, 1)
    size, columns = result["size"], result["columns"]
    assert size > 1
    risk = np.rint(view.trace.risk * RISK_LEVELS)
    parts = [risk[i : i + size] for i in range(0, len(risk), size)]
    assert column(columns["low"], "<u2").tolist() == [p.min() for p in parts]
    assert column(columns["high"], "<u2").tolist() == [p.max() for p in parts]
    assert column(columns["risk"], "<u2") == pytest.approx([p.mean() for p in parts], abs=0.5)
    missed = column(columns["flags"], "u1") & timeline.Flag.MISSED > 0
    assert missed.tolist() == [
        bool(view.missed[i : i + size].any()) for i in range(0, len(risk), size)
    ]


def test_missed_runs_are_all_accepted_errors(view: View) -> None:
    """Runs cover each accepted error once, with the predicted and the true class."""
    runs = missed_runs(view)
    covered = np.concatenate([np.arange(run.begin, run.end) for run in runs])
    assert sorted(covered.tolist()) == np.flatnonzero(view.missed).tolist()
    for run in runs:
        assert (view.trace.label[run.begin : run.end] == run.predicted).all()
        assert (np.asarray(view.stream.labels)[run.begin : run.end] == run.true).all()
        assert run.predicted != run.true
    assert sum(count for _, _, count in confusions(view)) == len(covered)


def test_drops_are_where_accuracy_is_low(view: View) -> None:
    """Drops cover each low window once; their alarms are counted from the trace."""
    listed = drops(view)
    covered = np.concatenate([np.arange(drop.begin, drop.end) for drop in listed])
    assert sorted(covered.tolist()) == np.flatnonzero(view.accuracy < view.floor).tolist()
    trace = dataclasses.replace(view.trace, alarm=view.trace.alarm.copy())
    first = listed[0]
    for step, nearest in (
        (first.begin, 0),
        (first.end + 4, 5),
        (first.begin - view.window - 1, -2),
    ):
        trace.alarm[:] = 0
        trace.alarm[step] = 1
        changed = dataclasses.replace(
            view, evaluation=dataclasses.replace(view.evaluation, trace=trace)
        )
        again = next(drop for drop in drops(changed) if drop.begin == first.begin)
        assert (again.nearest_alarm, again.caught) == (nearest, nearest == 0)


@pytest.mark.parametrize(
    ("count", "silent", "text"),
    [
        (1, 0, "The one drop in accuracy was caught."),
        (1, 1, "The one drop in accuracy was not caught."),
        (3, 0, "All of the 3 drops in accuracy were caught."),
        (3, 3, "None of the 3 drops in accuracy were caught."),
        (3, 1, "2 of 3 drops in accuracy were caught."),
    ],
)
def test_sentence_about_drops(count: int, silent: int, text: str) -> None:
    """The headline says how many drops were caught."""
    assert drops_text(count, silent) == text


def test_sentence_about_confusions() -> None:
    """Predicted and true class are named, and how often."""
    assert confusion_text([(5, 3, 3)]) == "Most frequent confusion: predicted 5, true 3 (3 times)."
    assert confusion_text([(5, 3, 2), (1, 0, 1)]).endswith("; predicted 1, true 0 (once).")


def test_page_opens_with_the_comparison(view: View) -> None:
    """One sentence sets the monitor beside a softmax threshold; the measures name it too."""
    page = report({"a": view.profile}, view.stream, rounds=0)
    sentence = view.evaluation.comparison.sentence
    assert page.index(sentence) < page.index("At a glance")
    assert "softmax threshold</td>" in page
    assert "softmax 0." in page


def test_broken_guarantees_are_reported(view: View) -> None:
    """All are held on a recorded fault; abstaining and alarming always breaks four."""
    assert {promise.verdict for promise in promises(view)} == {"held"}
    broken = dataclasses.replace(
        view.trace,
        outcome=np.full_like(view.trace.outcome, Outcome.ABSTAIN),
        exceeded=np.ones_like(view.trace.exceeded),
        alarm=np.ones_like(view.trace.alarm),
    )
    changed = dataclasses.replace(
        view, evaluation=dataclasses.replace(view.evaluation, trace=broken)
    )
    verdicts = [promise.verdict for promise in promises(changed)]
    assert verdicts[:4] == ["broken"] * 4


def test_every_window_is_checked_at_once(view: View) -> None:
    """The stated surplus is that of the worst of all windows of a short stream."""
    short = view.stream[:300]
    result = views({"a": view.profile}, short, window=100, rounds=0)[0]
    rate = view.profile.budget.rate_q16 / 65536
    counted = np.concatenate([[0], np.cumsum(result.trace.outcome == Outcome.ABSTAIN)])
    worst = max(
        counted[b] - counted[a] - rate * (b - a)
        for a in range(len(counted))
        for b in range(a, len(counted))
    )
    assert f"has {worst:.1f} more" in list(promises(result))[1].evidence


def test_missing_labels_are_reported(profile: tcuq.Profile, test_stream: tcuq.Stream) -> None:
    """Without labels the report has no statement on errors."""
    stream = tcuq.Stream(test_stream.posteriors, test_stream.features, starts=test_stream.starts)
    page = report({"a": profile}, stream, rounds=0)
    assert "Unknown: the stream has no labels." in page
    assert "does not mark its shifted steps" in page


def test_the_estimated_accuracy_needs_no_labels(
    profile: tcuq.Profile, test_stream: tcuq.Stream
) -> None:
    """A tile has the estimate of the whole stream, a chart that of each window."""
    stream = tcuq.Stream(test_stream.posteriors, test_stream.features, starts=test_stream.starts)
    page = report({"a": profile}, stream, rounds=0)
    errors = tcuq.Monitor(profile).run(stream).expected_error
    assert f"{1 - errors.mean():.1%}" in page
    assert "Estimated accuracy of the last 100 steps" in page
    assert "by the labels" not in page


def test_alarms_and_input_health_are_shown(pages: Callable[[str], Path]) -> None:
    """Tiles, list, data and measures name the cause; each statistic is beside calibration's."""
    page = pages("health").read_text("utf-8")
    alarms = Monitor(health_profile()).run(healthy_stream(3000, seed=2, rough_from=1500)).alarms
    first = next(iter(alarms))
    assert set(alarms.values()) == {ROUGH}
    assert f"first at step {first:,}: The microphone is noisier: its roughness rose to" in page
    assert f"▲ {first:,}</button> The microphone is noisier" in page
    assert f"({ROUGH})</li>" in page
    assert f'"causes": {{"{ROUGH}": [{first}, ' in page
    assert f"alarms during shifts: {ROUGH} ({len(alarms)})" in page
    page, reference = pages("health").read_text("utf-8"), health_profile().signals.health
    assert reference is not None
    assert "2 statistics of input health" in page
    assert "Tail of input health" in page
    for name, mean, scale in zip(reference.names, reference.means, reference.scales, strict=True):
        assert f"<td>{name}</td><td>{mean:.2f} ± {scale:.2f}</td>" in page
    assert "input health" not in pages("calm").read_text("utf-8")


def test_ram_is_the_engines(profile: tcuq.Profile) -> None:
    """The parts, each from a word on, add up to the device's storage and what points at it."""
    storage = Monitor(profile)._engine.storage_bytes  # noqa: SLF001 - the same number, from C
    parts = [size for _, size in ram_parts(profile)]
    assert 0 <= sum(parts) - storage - size_of("tcuq_monitor")[0] < WORD * len(parts)
    assert f"{sum(parts)} bytes" in costs(profile).values()


def test_page_is_self_contained(profile: tcuq.Profile, test_stream: tcuq.Stream) -> None:
    """The page has no address, no inline handler and a strict policy, and is reproducible."""
    page = report({"a": profile}, test_stream, rounds=5)
    assert page == report({"a": profile}, test_stream, rounds=5)
    assert "default-src 'none'; script-src 'sha256-" in page
    assert "://" not in page
    body = page.partition("<body>")[2].partition("<script")[0]
    assert not re.search(r"\s(?:on\w+|style|src|href)=", body)


def test_command_compares_profiles(
    tmp_path: Path, profile: tcuq.Profile, test_stream: tcuq.Stream,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Profiles are named by their file, or by their path if file names are equal."""
    for name in ("a/m.json", "b/m.json"):
        (tmp_path / name).parent.mkdir()
        profile.save(tmp_path / name)
    test_stream.save(tmp_path / "field.npz")
    one, two, field = (str(tmp_path / n) for n in ("a/m.json", "b/m.json", "field.npz"))
    out = tmp_path / "page.html"
    words = ["report", one, two, field, "-o", str(out), "--rounds", "0", "--json"]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["profiles"] == {one: profile.sha256, two: profile.sha256}
    assert document["bytes"] == out.stat().st_size
    assert "<h1>field.npz</h1>" in out.read_text("utf-8")
    assert main(["report", one, one, field, "-o", str(out)]) == 1
    assert "must be different files" in capsys.readouterr().err
    assert main(["report", one, field, "-o", str(tmp_path / "page.pdf")]) == 1
    assert "must end in .html" in capsys.readouterr().err


def test_too_many_profiles_are_refused(
    profile: tcuq.Profile, synthetic: Callable[..., tcuq.Stream]
) -> None:
    """A page has a limited number of profiles."""
    many = {str(n): profile for n in range(MAX_PROFILES + 1)}
    with pytest.raises(InputError, match="1 to 6 profiles, got 7"):
        report(many, synthetic())
