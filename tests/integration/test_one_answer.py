# SPDX-License-Identifier: Apache-2.0
"""Every tool gives the same labels, outcomes, alarms and step numbers for the same file."""

import base64
import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import tcuq
from tcuq.demo import demo_stream
from tcuq.profile.quantize import quantize
from tcuq.profile.settings import RISK_LEVELS
from tcuq.reports.timeline import Flag
from tcuq.stages.inputs import device_health
from tests.fixtures.firmware.emulator import Steps, decide, recordings
from tests.fixtures.firmware.export import write_c
from tests.fixtures.firmware.toolchain import CPUS, build
from tests.fixtures.healthy_streams import ROUGH, health_profile, healthy_stream
from tests.fixtures.replay_bytes import decision_bytes

STREAMS = ("test", "fault_clipping", "fault_noise_low", "rough_input", "rough_since_boot")

Command = Callable[..., str]


class Answer:
    """One stream's file, its profile, and the trace that Python's `run` gives for it."""

    def __init__(self, name: str, folder: Path, profile: tcuq.Profile, stream: tcuq.Stream) -> None:
        self.stream = stream
        self.file = folder / f"{name}.npz"
        self.stream.save(self.file)
        self.fitted = profile
        self.trace = tcuq.Monitor(profile).run(self.stream)
        self.profile = folder / "monitor.json"
        profile.save(self.profile)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Steps with a known label that the prediction does not match."""
        labels = self.stream.labels
        assert labels is not None
        wrong: NDArray[np.bool_] = (labels >= 0) & (self.trace.label != labels)
        return wrong

    @property
    def outcomes(self) -> dict[str, int]:
        """How many steps had each outcome."""
        return {o.name: int((self.trace.outcome == o).sum()) for o in tcuq.Outcome}

    @property
    def alarms(self) -> dict[str, list[int]]:
        """The steps, from 0, of the alarms of each cause."""
        causes = {self.trace[step].cause: step for step in np.flatnonzero(self.trace.alarm)}
        return {
            cause: [step for step in range(len(self.trace)) if self.trace[step].cause == cause]
            for cause in causes
        }


@pytest.fixture(params=STREAMS)
def answer(request: pytest.FixtureRequest, tmp_path: Path, profile: tcuq.Profile) -> Answer:
    """Python's answer for one of the demo's streams, or for one with input health."""
    if request.param == "rough_input":
        stream = healthy_stream(3000, seed=2, rough_from=1500)
    elif request.param == "rough_since_boot":
        stream = healthy_stream(1200, seed=3, rough_from=0)
    else:
        return Answer(request.param, tmp_path, profile, demo_stream(request.param))
    return Answer(request.param, tmp_path, health_profile(), stream)


def check_counts(facts: dict[str, Any], answer: Answer) -> None:
    """Steps, outcomes and alarms of a command's JSON are Python's."""
    assert facts["steps"] == len(answer.trace)
    assert facts["outcomes"] == answer.outcomes
    assert facts["alarms"] == answer.alarms


@pytest.mark.parametrize(
    ("answer", "cause"),
    [("rough_input", ROUGH), ("rough_since_boot", f"{ROUGH} since boot")],
    indirect=["answer"],
)
def test_the_faulty_streams_alarm(answer: Answer, cause: str) -> None:
    """The comparison is not of empty lists: streams alarm, each by its own cause."""
    assert answer.alarms[cause]


def test_step_by_step(answer: Answer) -> None:
    """Python's `step`, with the history forgotten at each recording's start."""
    monitor, stream = tcuq.Monitor(answer.fitted), answer.stream
    for step in range(len(stream)):
        if step in stream.starts:
            monitor.reset_history()
        health = None if stream.health is None else stream.health[step]
        decision = monitor.step(stream.posteriors[step], np.asarray(stream.features)[step], health)
        assert decision == answer.trace[step]


def test_run(answer: Answer, output_of: Command) -> None:
    """`tcuq run`: its JSON, and every column of the file that it writes."""
    output = answer.file.with_suffix(".trace.npz")
    words = ("run", answer.profile, answer.file, "-o", output, "--json")
    check_counts(json.loads(output_of(*words)), answer)
    with np.load(output) as written:
        for name in tcuq.Trace.__slots__:
            assert (written[name] == getattr(answer.trace, name)).all(), name


def test_evaluate(answer: Answer, output_of: Command) -> None:
    """`tcuq evaluate`: counts, alarms and the error among accepted predictions."""
    words = ("evaluate", answer.profile, answer.file, "--rounds", 0, "--json")
    facts = json.loads(output_of(*words))
    check_counts(facts, answer)
    labels = answer.stream.labels
    assert labels is not None
    accepted = (labels >= 0) & (answer.trace.outcome == tcuq.Outcome.ACCEPT)
    error = facts["measures"]["error among accepted"]["value"]
    assert error == pytest.approx(answer.wrong[accepted].mean())


def test_watch(answer: Answer, output_of: Command) -> None:
    """`tcuq watch`: its JSON, and the alarms with their causes that it prints on a pipe."""
    check_counts(json.loads(output_of("watch", answer.profile, answer.file, "--json")), answer)
    text = output_of("watch", answer.profile, answer.file)
    printed = re.findall(r"^step (\d+) alarm (.*)$", text, re.MULTILINE)
    assert {int(step): cause for step, cause in printed} == answer.trace.alarms


def test_report(answer: Answer, output_of: Command) -> None:
    """`tcuq report`: the data embedded in the page, and the alarms that it lists."""
    output = answer.file.with_suffix(".html")
    output_of("report", answer.profile, answer.file, "-o", output, "--rounds", 0)
    page = output.read_text("utf-8")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert data is not None
    document = json.loads(data[1])
    assert document["steps"] == len(answer.trace)
    view = document["views"][0]
    assert view["size"] == 1
    flags = np.frombuffer(zlib.decompress(base64.b64decode(view["columns"]["flags"])), np.uint8)
    for flag, expected in (
        (Flag.ABSTAINED, answer.trace.outcome == tcuq.Outcome.ABSTAIN),
        (Flag.DENIED, answer.trace.outcome == tcuq.Outcome.DENIED),
        (Flag.ALARMED, answer.trace.alarm > 0),
        (Flag.WRONG, answer.wrong),
    ):
        assert ((flags & flag > 0) == expected).all(), flag
    listed = re.findall(r"▲ ([\d,]+)</button> ([^<]*) \(([^<]*)\)<", page)
    alarms = [(int(step.replace(",", "")), cause) for step, _, cause in listed]
    assert alarms == list(answer.trace.alarms.items())[: len(alarms)]
    assert [text for _, text, _ in listed] == list(answer.trace.meanings.values())[: len(listed)]
    assert bool(alarms) == bool(answer.trace.alarm.any())
    assert view["causes"] == answer.alarms


@pytest.mark.parametrize("quantised", [False, True])
def test_replay(answer: Answer, output_of: Command, quantised: bool) -> None:
    """`tcuq pack` and `tcuq replay`: every step's decision, from floats and from bytes."""
    archive, folder = answer.file.with_suffix(".parquet"), answer.file.with_suffix(".replay")
    as_bytes = ("--profile", answer.profile) if quantised else ()
    output_of("pack", answer.file, "-o", archive, *as_bytes)
    output_of("replay", answer.profile, archive, "-o", folder, "--decisions")
    (row,) = pq.read_table(folder / "streams.parquet").to_pylist()
    trace, alarms = answer.trace, np.flatnonzero(answer.trace.alarm)
    assert row["steps"] == len(trace)
    assert row["decisions"] == decision_bytes(trace)
    assert row["first_alarm"] == (alarms[0] if len(alarms) else None)
    assert row["wrong"] == answer.wrong.sum()


def test_emulated_cortex_m4(answer: Answer, tmp_path: Path) -> None:
    """The firmware on an emulated Cortex-M4: every member of every decision."""
    profile = answer.fitted
    cpu = next(cpu for cpu in CPUS if cpu.name == "m4")
    elf = build(cpu, tmp_path, write_c(quantize(profile), telemetry=True))
    rows = tcuq.Monitor(profile).quantize(answer.stream.posteriors, answer.stream.features)
    health = device_health(answer.stream.health, profile.signals.health, len(answer.stream))
    marks = recordings(len(answer.stream), answer.stream.starts)
    decisions = decide(cpu, elf, Steps(*rows, health, marks))
    trace = answer.trace
    assert len(decisions) == len(trace)
    for name in ("label", "exceeded", "outcome", "alarm", "cause"):
        assert (decisions[name] == getattr(trace, name)).all(), name
    assert (decisions["risk"] == trace.risk * RISK_LEVELS).all()
