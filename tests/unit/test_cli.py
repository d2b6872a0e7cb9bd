# SPDX-License-Identifier: Apache-2.0
"""The commands that fit, run, evaluate, inspect, plan and show the demo."""

import contextlib
import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tcuq
from tcuq import demo
from tcuq.cli import main
from tcuq.decision import joined_traces
from tcuq.demo import FAULTS
from tcuq.options import FitOptions, grouped
from tcuq.reference import CHUNK_STEPS
from tests.fixtures.conformance import quiet_fit
from tests.fixtures.healthy_streams import (
    NAMES,
    ROUGH,
    health_profile,
    healthy_stream,
    without_health,
)

BOX = Path(tcuq.__file__).parent / "data/keywords"
CALIBRATION, DEVELOPMENT = str(BOX / "calibration.npz"), str(BOX / "development.npz")
TEST, FAULT = str(BOX / "test.npz"), str(BOX / "fault_clipping.npz")
RunCommand = Callable[..., str]
PAGE = Path(__file__).parents[2] / "docs/howto/plan.md"


def read(text: str) -> dict[str, Any]:
    """Parse one line of JSON without NaN or infinity."""

    def refuse(name: str) -> NoReturn:
        pytest.fail(f"{name} is not JSON")

    assert text.count("\n") == 1
    document: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return document


def test_demo_shows_every_fault(output_of: RunCommand, profile: tcuq.Profile) -> None:
    """The comparison, a row per fault and a picture fit one screen; JSON has the figures."""
    text = output_of("demo")
    lines = text.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    for part in ("The monitor accepted ", "of as many chosen by a softmax threshold", "ADWIN"):
        assert part in " ".join(lines)
    for name in FAULTS:
        assert f"\n{name} " in text
    assert all(f"\n{row:<9}" in text for row in ("risk", "fault", "withheld", "alarm"))
    document = read(output_of("demo", "--json"))
    assert document["profile"] == profile.sha256
    assert [fault["fault"] for fault in document["faults"]] == list(FAULTS)
    for fault in document["faults"]:
        for onset in fault["onsets"]:
            assert onset["delay_seconds"] == onset["delay_steps"] * document["seconds_per_step"]
            assert onset["cause"]
    assert document["false_alarms"] == 0


def test_demo_names_what_goes_unseen(
    output_of: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault without an alarm is called unseen, in its row and below the table."""
    monkeypatch.setattr(demo, "detection_delays", lambda _alarm, _shifted: np.full(2, np.inf))
    text = output_of("demo")
    assert re.search(r"^hum .*unseen, unseen$", text, re.MULTILINE)
    assert "Unseen: noise_low (2 of 2)" in text


def test_last_commands_of_the_demo_work(
    output_of: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The three commands at the demo's end run as they stand, one after the other."""
    monkeypatch.chdir(tmp_path)
    commands = [line.split()[1:] for line in output_of("demo").splitlines()[-3:]]
    assert [command[0] for command in commands] == ["demo", "fit", "report"]
    for command in commands:
        output_of(*command)
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_fit_writes_the_profile_of_the_library(
    output_of: RunCommand, tmp_path: Path, profile: tcuq.Profile
) -> None:
    """The file is tcuq.fit's profile; the text is its summary, the JSON its document."""
    text = output_of("fit", CALIBRATION, "-o", tmp_path / "p.json")
    assert tcuq.Profile.load(tmp_path / "p.json") == profile
    assert text == f"{profile.summary()}\nwritten to {tmp_path / 'p.json'}\n"
    document = read(output_of("fit", CALIBRATION, "-o", tmp_path / "p.json", "--json"))
    assert document == json.loads((tmp_path / "p.json").read_text())
    assert document == json.loads(profile.to_json())


def test_fit_takes_every_option(output_of: RunCommand, tmp_path: Path) -> None:
    """Each option of the command line reaches the profile."""
    options = (
        "--alpha 0.05 --budget 0.25 --burst 8 --denied withhold --score tcuq --signs monotone"
        " --mode adaptive --blend 0.25 --warmup 9 --ledger-step 0.0625 --alarm"
        " --lags 1,3 --steps-per-false-alarm 4096 --block-factor 2 --projection lda --seed 5"
        " --preset paper"
    )
    given = ("--development", DEVELOPMENT, *options.split(), "-o", tmp_path / "p.json")
    document = read(output_of("fit", CALIBRATION, *given, "--json"))
    assert document["threshold"]["alpha_q16"] == int(0.05 * 65536)
    budget = {"rate_q16": 65536 // 4, "burst_q16": 8 * 65536, "denied": "withhold"}
    assert document["budget"] == budget
    assert (document["score"]["kind"], document["score"]["signs"]) == ("tcuq", "monotone")
    assert (document["threshold"]["mode"], document["threshold"]["step"]) == ("adaptive", 1024)
    assert document["signals"]["lags"] == [1, 3]
    assert document["alarm"]["steps_per_false_alarm"] == 4096
    assert (document["signals"]["blend"], document["threshold"]["warmup"]) == (0.25, 9)
    assert document["alarm"]["channels"][2]["block"] == 16
    assert (document["provenance"]["seed"], document["provenance"]["preset"]) == (5, "paper")


def test_run_counts_outcomes(output_of: RunCommand, saved: str) -> None:
    """Every step has one outcome; alarms name cause and step, or the text says there is none."""
    document = read(output_of("run", saved, FAULT, "--json"))
    assert sum(document["outcomes"].values()) == document["steps"] == 1920
    assert sum(map(len, document["alarms"].values())) > 0
    text = output_of("run", saved, FAULT)
    assert "1,920 steps, mean risk " in text
    cause, steps = next(iter(document["alarms"].items()))
    assert f"alarm    {cause} at step {steps[0]:,}" in text
    assert "no alarm\n" in output_of("run", saved, TEST)
    assert read(output_of("run", saved, TEST, "--json"))["alarms"] == {}


@pytest.mark.parametrize("command", ["run", "evaluate"])
def test_alarms_name_the_statistic_of_input_health(
    output_of: RunCommand, tmp_path: Path, command: str
) -> None:
    """The cause is in the text and the JSON; a stream without health is told apart."""
    health_profile().save(tmp_path / "p.json")
    stream = healthy_stream(2000, seed=2, rough_from=1500)
    stream.save(tmp_path / "rough.npz")
    without_health(stream).save(tmp_path / "bare.npz")
    more = ("--rounds", 0) if command == "evaluate" else ()
    rough = (command, tmp_path / "p.json", tmp_path / "rough.npz", *more)
    alarms = read(output_of(*rough, "--json"))["alarms"]
    assert list(alarms) == [ROUGH]
    assert f"alarm    {ROUGH} at step {alarms[ROUGH][0]:,}" in output_of(*rough)
    bare = output_of(command, tmp_path / "p.json", tmp_path / "bare.npz", *more)
    assert "no alarm\nnote     the stream has no input health, so that channel cannot" in bare


def test_run_keeps_recordings_apart(
    output_of: RunCommand, tmp_path: Path, synthetic: Callable[..., tcuq.Stream]
) -> None:
    """A long stream gives the trace of its recordings one by one, wherever they start."""
    starts = [1, 9, CHUNK_STEPS - 1, CHUNK_STEPS, CHUNK_STEPS + 1, 5 * CHUNK_STEPS + 7, 16384]
    stream = synthetic(20_000, width=2, starts=starts, seed=3)
    looks_back = [tcuq.TermPlan("divergence"), tcuq.TermPlan("novelty", ewma=4)]
    profile = quiet_fit(stream, terms=looks_back, alarm=tcuq.AlarmOptions(1024))
    profile.save(tmp_path / "p.json")
    stream.save(tmp_path / "s.npz")
    output_of("run", tmp_path / "p.json", tmp_path / "s.npz", "-o", tmp_path / "t.npz")
    monitor, traces = tcuq.Monitor(profile), []
    for part in stream.recordings():
        monitor.reset_history()
        traces.append(monitor.run(part.posteriors, part.features))
    whole = joined_traces(traces)
    with np.load(tmp_path / "t.npz") as trace:
        assert set(trace.files) == set(tcuq.Trace.__slots__)
        for name in trace.files:
            assert trace[name].tobytes() == getattr(whole, name).tobytes(), name


def test_evaluate_prints_measures_with_intervals_and_baselines(
    output_of: RunCommand, saved: str
) -> None:
    """Text has a line per measure; in JSON, values that are not finite are null."""
    text = output_of("evaluate", saved, FAULT, "--rounds", 3, "--window", 50, "--seed", 1)
    assert text.startswith("The monitor accepted ")
    assert "\nmeasure " in text
    assert "failure AUROC" in text
    assert "detection delay" in text
    assert " to " in text
    document = read(output_of("evaluate", saved, FAULT, "--rounds", 0, "--json"))
    assert document["summary"].startswith("The monitor accepted ")
    measures = document["measures"]
    assert measures["failure AUROC"]["interval"] == [None, None]
    assert measures["failure AUROC"]["reason"] == "no bootstrap rounds were requested"
    assert measures["detection delay"]["baselines"] == {"always": 1.0, "never": None}
    assert all(measure["baselines"] for measure in measures.values())


def test_inspect_a_profile_and_its_health(
    output_of: RunCommand, saved: str, profile: tcuq.Profile, tmp_path: Path
) -> None:
    """A profile's summary or document; statistics of input health are named."""
    assert output_of("inspect", saved).startswith(f"profile    {profile.sha256[:8]}")
    assert read(output_of("inspect", saved, "--json")) == json.loads(profile.to_json())
    healthy_stream(2000, seed=2).save(tmp_path / "s.npz")
    assert read(output_of("inspect", tmp_path / "s.npz", "--json"))["health"] == list(NAMES)
    health_profile().save(tmp_path / "p.json")
    for file in ("s.npz", "p.json"):
        assert f"health     {', '.join(NAMES)}\n" in output_of("inspect", tmp_path / file)


def test_inspect_a_stream(output_of: RunCommand, test_stream: tcuq.Stream) -> None:
    """The output has the stream's sizes and its hash."""
    document = read(output_of("inspect", TEST, "--json"))
    assert document["steps"] == document["labelled"] == len(test_stream)
    assert (document["recordings"], document["kind"]) == (2, "probabilities")
    assert (document["classes"], document["features"], document["shifted"]) == (10, 32, 0)
    assert (document.pop("findings"), document["sha256"]) == ([], test_stream.sha256)
    text = output_of("inspect", TEST)
    assert [line.split()[0] for line in text.splitlines()] == list(document)


def test_inspect_warns_of_what_cannot_be_calibrated(
    output_of: RunCommand, tmp_path: Path, synthetic: Callable[..., tcuq.Stream]
) -> None:
    """Recordings shorter than a block and too few steps are named; absent columns are absent."""
    synthetic(2000, starts=np.arange(0, 2000, 20)).save(tmp_path / "s.npz")
    document = read(output_of("inspect", tmp_path / "s.npz", "--json"))
    assert [finding["name"] for finding in document["findings"]] == ["short_recordings"]
    fitted = output_of("fit", tmp_path / "s.npz", "-o", tmp_path / "p.json")
    for text in (output_of("inspect", tmp_path / "s.npz"), fitted):
        words = " ".join(text.split())
        assert "warning Recordings are short: half have at most 20 steps, and a block of" in words
    bare = tcuq.Stream(synthetic(20).posteriors)
    bare.save(tmp_path / "s.parquet")
    document = read(output_of("inspect", tmp_path / "s.parquet", "--json"))
    assert (document["features"], document["labelled"], document["shifted"]) == (0, 0, None)
    assert [finding["name"] for finding in document["findings"]] == ["too_short"]
    text = " ".join(output_of("inspect", tmp_path / "s.parquet").split())
    assert "warning No monitor can be calibrated on it: calibration must have at least 256" in text


def test_the_page_shows_what_the_command_prints(output_of: RunCommand) -> None:
    """The example of the page is the output of its own command."""
    block = PAGE.read_text("utf-8").split("```console\n")[1].split("```")[0]
    command, _, expected = block.partition("\n")
    assert output_of("plan", *shlex.split(command)[3:]) == expected


@settings(deadline=None, max_examples=50)
@given(
    per_hour=st.floats(1e-3, 1e9),
    monthly=st.floats(1e-6, 1e6),
    devices=st.integers(1, 10**8),
    withheld=st.floats(0.001, 0.99),
)
def test_planned_options_are_accepted_and_keep_the_rate_or_say_so(
    per_hour: float, monthly: float, devices: int, withheld: float
) -> None:
    """Options are valid; the false-alarm rate is kept unless the note names the larger one."""
    out = io.StringIO()
    line = ["--steps-per-hour", repr(per_hour), "--false-alarms-per-month", repr(monthly)]
    line += ["--devices", str(devices), "--withheld", repr(withheld)]
    with contextlib.redirect_stdout(out):
        assert main(["plan", *line, "--json"]) == 0
        assert main(["plan", *line]) == 0
    first, _, text = out.getvalue().partition("\n")
    facts = json.loads(first)
    total = facts.pop("false_alarms_per_month")
    FitOptions(**grouped("recommended", facts))
    assert facts["budget"] >= facts["alpha"] == withheld
    assert total <= 1.01 * monthly or "note:" in text


@pytest.mark.parametrize(
    ("option", "value"),
    [("--steps-per-hour", "nan"), ("--false-alarms-per-month", "0"), ("--devices", "-1"),
     ("--withheld", "1")],
)  # fmt: skip
def test_a_rate_that_makes_no_sense_is_refused(
    option: str, value: str, refusal: RunCommand
) -> None:
    """The message names the option, the rule and the value."""
    assert f"{option[2:]} must" in refusal("plan", "--steps-per-hour", "60", option, value)
