# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from typing import Any

import pytest

from tcuq.calibrate.presets import PAPER, RECOMMENDED, TermPlan, options_from
from tcuq.errors import InputError

NAN, INF = float("nan"), float("inf")
BAD: list[tuple[str, Any]] = [
    *(("alpha", value) for value in (0, 1, -0.1, 1.5, 1e-9, NAN, INF)),
    *(("budget", value) for value in (-0.01, 1.01, NAN)),
    *(("burst", value) for value in (0, 0.5, 32_768, NAN, INF)),
    *(("mix", value) for value in (-0.1, 1.1, NAN)),
    *(("blend", value) for value in (-0.1, 1.1, NAN)),
    *(("warmup", value) for value in (-1, 2**31)),
    *(("ledger_step", value) for value in (0, 2**-15, 0.51, -1, NAN)),
    *(("seed", value) for value in (-1, 2**32)),
    *(("steps_per_false_alarm", value) for value in (255, 2**24 + 1, -1, 300.5, NAN)),
    *(("alarm", value) for value in (1, "yes")),
    *(("score", value) for value in ("best", "", ["tcuq"])),
    *(("signs", value) for value in ("positive", 0)),
    *(("mode", value) for value in ("static", 0)),
    *(("projection", value) for value in ("svd", 0)),
    *(("block_factor", value) for value in (0, 3, 8)),
    *(("lags", value) for value in ((), (0,), (256,), (2, 1), (1, 1), (1.5,), range(1, 10))),
    *(("terms", value) for value in ((), (TermPlan("doubt"),) * 9)),
]
BAD_TERMS: list[tuple[str, Any]] = [
    *(("signal", value) for value in ("luck", "", None)),
    *(("tail", value) for value in ("both", None)),
    *(("scale", value) for value in ("bits", None, "odds")),
    *(("ewma", value) for value in (0, 11, -1)),
    *(("dead", value) for value in (-1, 17, NAN)),
    *(("cap", value) for value in (-1, 17, INF)),
    *(("weight", value) for value in (-0.1, 65, NAN)),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_bad_options_are_refused(name: str, value: Any) -> None:
    """The message is one line with the option's name, the rule and the value."""
    with pytest.raises(InputError) as caught:
        options_from("recommended", {name: value})
    message = str(caught.value)
    assert message.startswith(f"{name} must ")
    assert ", got " in message
    assert "\n" not in message


@pytest.mark.parametrize(("name", "value"), BAD_TERMS)
def test_bad_terms_are_refused(name: str, value: Any) -> None:
    """A term's own rules are checked before the fit."""
    with pytest.raises(InputError, match=f"a term's {name} must "):
        options_from("recommended", {"terms": [replace(TermPlan("doubt"), **{name: value})]})


@pytest.mark.parametrize("preset", ["mine", "", "Paper", None])
def test_unknown_preset_is_refused(preset: Any) -> None:
    """The message lists the presets."""
    with pytest.raises(InputError, match="preset must be one of paper, recommended, got"):
        options_from(preset, {})


def test_unknown_option_is_refused() -> None:
    """A misspelt option is not ignored, and the message lists the options."""
    with pytest.raises(InputError, match="'alhpa' is not an option; options are alpha, budget"):
        options_from("recommended", {"alhpa": 0.1})


def test_changes_replace_the_presets_options() -> None:
    """Changed options replace the preset's; lists become tuples."""
    options = options_from("paper", {"lags": [1, 8], "terms": [TermPlan("doubt")], "mix": None})
    assert options == replace(PAPER, lags=(1, 8), terms=(TermPlan("doubt"),))


def test_rate_of_false_alarms_turns_the_alarm_on() -> None:
    """The paper's preset has no alarm, unless a rate is given."""
    options = options_from("paper", {"steps_per_false_alarm": 4096})
    assert options == replace(PAPER, alarm=True, steps_per_false_alarm=4096)


def test_presets_are_the_paper_s_and_ours() -> None:
    """The paper's system has its score, its warm-up and no alarm; ours needs no labels."""
    assert (PAPER.score, PAPER.signs, PAPER.mode) == ("tcuq", "free", "adaptive")
    assert (PAPER.warmup % 16, PAPER.alarm) == (0, False)
    assert (RECOMMENDED.score, RECOMMENDED.mode) == ("anchored", "guarded")
    assert (RECOMMENDED.alarm, RECOMMENDED.steps_per_false_alarm) == (True, 2**20)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", 2**-16),
        ("alpha", 1 - 2**-16),
        ("budget", 0),
        ("budget", 1),
        ("burst", 1),
        ("burst", 32_767),
        ("warmup", 2**31 - 1),
        ("ledger_step", 2**-14),
        ("ledger_step", 0.5),
        ("steps_per_false_alarm", 256),
        ("steps_per_false_alarm", 2**24),
        ("alarm", False),
        ("lags", tuple(range(1, 9))),
        ("lags", (255,)),
        ("seed", 2**32 - 1),
    ],
)
def test_ranges_include_their_bounds(name: str, value: Any) -> None:
    """The smallest and the largest value of an option are allowed."""
    assert getattr(options_from("recommended", {name: value}), name) == value
