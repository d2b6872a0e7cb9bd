# SPDX-License-Identifier: Apache-2.0
"""The package for JavaScript: the device's decisions, bit for bit, and refusals in one line."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tcuq
from tcuq.demo import FAULTS, demo_stream
from tests.fixtures.conformance import promised_profile, recorded_profile
from tests.fixtures.effort import cases as fewer
from tests.fixtures.firmware.scenarios import outputs_scenario, outputs_stream
from tests.fixtures.javascript import (
    RANDOM_STEPS,
    ROOT,
    Case,
    build,
    differing_columns,
    random_case,
    run,
)  # fmt: skip


@pytest.fixture(scope="module")
def entry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, built."""
    return build(tmp_path_factory.mktemp("package") / "js")


def recorded_cases() -> list[Case]:
    """Every recorded stream by the default profile; by the paper's and a promise's, one."""
    profile = recorded_profile().to_json()
    names = ("test", *(f"fault_{name}" for name in FAULTS))
    cases = [Case(profile, demo_stream(name), single=100) for name in names]
    others = (recorded_profile("paper"), promised_profile())
    return cases + [Case(other.to_json(), demo_stream("fault_hum")) for other in others]


def random_cases() -> list[Case]:
    """Profiles of any shape, on logits; and a regressor's."""
    regressor = Case(outputs_scenario().profile.to_json(), outputs_stream(RANDOM_STEPS, 1, 4))
    return [*(random_case(seed) for seed in range(fewer(40))), regressor]


@pytest.mark.parametrize("case_list", [recorded_cases, random_cases], ids=("recorded", "random"))
def test_javascript_decides_as_the_engine(
    entry: Path, tmp_path: Path, case_list: Callable[[], list[Case]]
) -> None:
    """Every column of every trace is equal, and a step alone decides as in a run."""
    cases = case_list()
    for number, (case, message) in enumerate(zip(cases, run(entry, tmp_path, cases), strict=True)):
        assert "refused" not in message, message
        assert differing_columns(tmp_path, number, case) == []
        monitor = tcuq.Monitor(tcuq.Profile.from_json(case.profile))
        posteriors, features = case.stream.posteriors, case.stream.features
        for i, words in enumerate(message.get("single", [])):
            decision = monitor.step(posteriors[i], None if features is None else features[i])
            outcome, reason = decision.outcome.name.lower(), str(decision.reason)
            assert words == [decision.label, decision.risk, outcome, reason]


def test_snapshots_go_between_python_and_javascript(entry: Path, tmp_path: Path) -> None:
    """The state after a stream is the same bytes."""
    profile, stream = recorded_profile(), demo_stream("fault_dropout")
    monitor = tcuq.Monitor(profile)
    monitor.run(stream)
    (message,) = run(entry, tmp_path, [Case(profile.to_json(), stream)])
    assert bytes.fromhex(message["snapshot"]) == monitor.snapshot()


def test_what_breaks_a_rule_is_refused_in_one_line(entry: Path, tmp_path: Path) -> None:
    """An altered or foreign profile, posteriors that do not sum to 1, and rows of another width."""
    profile, stream = recorded_profile().to_json(), demo_stream("test")[:51]
    altered = json.loads(profile)
    altered["threshold"]["anchor"] += 1
    foreign = {**json.loads(profile), "format": "tcuq.profile/5"}
    narrow = tcuq.Stream(np.full((51, 3), 1 / 3), stream.features, kind="probabilities")
    outputs = outputs_scenario()
    cases = [
        Case(json.dumps(altered), stream),
        Case(json.dumps(foreign), stream),
        Case("{}", stream),
        Case("[1, 2", stream),
        Case(profile, narrow),
        Case(json.dumps({**json.loads(profile), "signals": None}), stream),
        Case(outputs.profile.to_json(), stream),
    ]
    messages = [message.get("refused", "") for message in run(entry, tmp_path, cases)]
    rules = (
        "profile.sha256 must be", "profile.format must be tcuq.profile", "profile.format must be",
        "profile must be JSON", "posteriors must be rows of 10", "profile must hold every member",
        "must be",
    )  # fmt: skip
    for message, rule in zip(messages, rules, strict=True):
        assert rule in message
        assert "\n" not in message


def test_the_package_has_the_librarys_version() -> None:
    """One version: package.json follows tcuq."""
    assert json.loads((ROOT / "js/package.json").read_text("utf-8"))["version"] == tcuq.__version__
