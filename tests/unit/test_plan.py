# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcuq.cli import main
from tcuq.options import FitOptions, grouped

PAGE = Path(__file__).parents[2] / "docs/howto/plan.md"


def plan(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what `tcuq plan` prints."""
    assert main(["plan", *arguments]) == 0
    return capsys.readouterr().out


def test_the_page_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """The example of the page is the output of its own command."""
    block = PAGE.read_text("utf-8").split("```console\n")[1].split("```")[0]
    command, _, expected = block.partition("\n")
    assert plan(capsys, *shlex.split(command)[3:]) == expected


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
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the option, the rule and the value."""
    assert main(["plan", "--steps-per-hour", "60", option, value]) == 1
    assert f"{option[2:]} must" in capsys.readouterr().err
