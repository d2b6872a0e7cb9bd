# SPDX-License-Identifier: Apache-2.0
"""A stored proof is of what Frama-C read: other functions and comments do not renew it."""

import shutil
from pathlib import Path

import pytest

from tools.proof.wp import FOLDERS, PACKAGE, forget_timeouts, parsed

SOURCE = "tcuq_threshold.c"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a copy of the C sources."""
    for name in FOLDERS:
        shutil.copytree(PACKAGE / name, tmp_path / name)
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    """Replace one text in a file."""
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


def test_a_comment_or_another_stage_does_not_renew_a_proof(package: Path) -> None:
    """What a source does not use is no part of its proof's name."""
    contracts = package / "runtime/tcuq_acsl_alarm.h"
    change(contracts, "int8_t tcuq_last_change(", "/* other */ int8_t tcuq_last_change(")
    change(contracts, "ensures -32768 <= \\result <= 32767; */\nint16_t tcuq_risk_odds_q10",
           "ensures -32768 <= \\result <= 32766; */\nint16_t tcuq_risk_odds_q10")  # fmt: skip
    assert parsed(SOURCE, package) == parsed(SOURCE)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("tcuq_acsl.h", "p->step <= TCUQ_MAX_STEP &&", "p->step <= 1 &&"),
        ("tcuq.h", "#define TCUQ_MAX_STEP 8192u", "#define TCUQ_MAX_STEP 8191u"),
        (SOURCE, "exceeded ? move : -move", "exceeded ? -move : move"),
    ],
)
def test_code_limits_and_contracts_renew_a_proof(
    package: Path, name: str, old: str, new: str
) -> None:
    """A proof is made again if a contract, a limit or the code is another."""
    change(package / "runtime" / name, old, new)
    assert parsed(SOURCE, package) != parsed(SOURCE)


def test_only_answers_that_came_in_time_are_kept(tmp_path: Path) -> None:
    """A loaded machine's missing answer is no answer."""
    answers = {"late": '{ "verdict": "timeout", "time": 30. }', "good": '{ "verdict": "valid" }'}
    for name, text in answers.items():
        (tmp_path / f"{name}.json").write_text(text, "utf-8")
    forget_timeouts(tmp_path)
    assert [path.stem for path in tmp_path.iterdir()] == ["good"]
