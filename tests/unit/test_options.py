# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tcuq.errors import InputError
from tcuq.options import PRESETS, AlarmOptions, PromiseOptions, TermPlan, grouped, options_from

PAPER, RECOMMENDED = PRESETS["paper"], PRESETS["recommended"]

NAN, INF = float("nan"), float("inf")
BAD: list[tuple[str, Any]] = [
    *(("alpha", value) for value in (0, 1, -0.1, 1.5, 1e-9, NAN, INF, "x")),
    *(("budget", value) for value in (-0.01, 1.01, NAN)),
    *(("burst", value) for value in (0, 0.5, 32_768, NAN, INF)),
    *(("mix", value) for value in (-0.1, 1.1, NAN)),
    *(("blend", value) for value in (-0.1, 1.1, NAN)),
    *(("warmup", value) for value in (-1, 2**31, 1.5)),
    *(("ledger_step", value) for value in (0, 2**-15, 0.51, -1, NAN)),
    *(("seed", value) for value in (-1, 2**32, 1.5)),
    *(("steps_per_false_alarm", value) for value in (255, 2**24 + 1, -1, 300.5, NAN, "2000")),
    *(("epoch_steps", value) for value in (255, 2**31)),
    *(("accepted_error", value) for value in (0, 0.51, NAN)),
    *(("alarm", value) for value in (1, "yes")),
    *(("promise", value) for value in (0.05, True)),
    *(("paper", value) for value in ("tcuq", True)),
    *(("score", value) for value in ("best", "", ["tcuq"])),
    *(("signs", value) for value in ("positive", 0)),
    *(("mode", value) for value in ("static", 0)),
    *(("projection", value) for value in ("svd", 0)),
    *(("block_factor", value) for value in (0, 3, 8, 2.5, True)),
    *(("lags", value) for value in ((), (0,), (256,), (2, 1), (1, 1), (1.5,), range(1, 10))),
    *(("lags", value) for value in (5, (True,), [[1], [2]], ["a", 1])),
    *(("terms", value) for value in ((), (TermPlan("doubt"),) * 9, ["novelty"])),
]
BAD_TERMS: list[tuple[str, Any]] = [
    *(("signal", value) for value in ("luck", "", None)),
    *(("scale", value) for value in ("bits", None, "odds")),
    *(("ewma", value) for value in (0, 11, -1, 2.5)),
    *(("dead", value) for value in (-1, 17, NAN, "x")),
    *(("cap", value) for value in (-1, 17, INF)),
    *(("weight", value) for value in (-0.1, 65, NAN)),
]


def test_bad_options_are_refused(subtests: pytest.Subtests) -> None:
    """The message is one line with the option's name, the rule and the value."""
    for name, value in BAD:
        with subtests.test(name=name, value=value):
            with pytest.raises(InputError) as caught:
                options_from("recommended", grouped("recommended", {name: value}))
            message = str(caught.value)
            assert message.startswith(f"{name} must ")
            assert ", got " in message
            assert "\n" not in message


def test_bad_terms_are_refused(subtests: pytest.Subtests) -> None:
    """A term's own rules are checked before the fit."""
    for name, value in BAD_TERMS:
        with (
            subtests.test(name=name, value=value),
            pytest.raises(InputError, match=f"a term's {name} must "),
        ):
            options_from("recommended", {"terms": [replace(TermPlan("doubt"), **{name: value})]})


@pytest.mark.parametrize("preset", ["mine", "", "Paper", None])
def test_unknown_preset_is_refused(preset: Any) -> None:
    """The message lists the presets."""
    with pytest.raises(InputError, match="preset must be one of paper, recommended, got"):
        options_from(preset, {})


def test_changes_replace_the_presets_options() -> None:
    """Lists become tuples; True and False turn the alarm on and off, options turn it on."""
    options = options_from("paper", {"lags": [1, 8], "terms": [TermPlan("doubt")], "alpha": None})
    assert options == replace(PAPER, lags=(1, 8), terms=(TermPlan("doubt"),))
    for preset in PRESETS:
        assert options_from(preset, {"alarm": True}).alarm == AlarmOptions()
        assert options_from(preset, {"alarm": False}).alarm is None
        assert options_from(preset, {"alarm": AlarmOptions(4096)}).alarm == AlarmOptions(4096)


def test_the_papers_score_looks_back_as_the_paper_does() -> None:
    """It reads the past alone; what is given beside it counts."""
    score = {"paper": replace(RECOMMENDED.paper, score="tcuq")}
    options = options_from("recommended", score)
    assert (options.lags, options.dimensions) == (PAPER.lags, PAPER.dimensions)
    assert options_from("recommended", {**score, "lags": (2,)}).lags == (2,)


def test_single_options_join_their_groups() -> None:
    """Of a group, what is not given is the preset's; a group that is off cannot have options."""
    flat = {"alpha": 0.2, "mix": 0.5, "steps_per_false_alarm": np.int64(4096), "warmup": None}
    assert grouped("recommended", flat) == {
        "alpha": 0.2,
        "paper": replace(RECOMMENDED.paper, mix=0.5),
        "alarm": AlarmOptions(4096),
    }
    assert grouped("paper", {"epoch_steps": 300}) == {"alarm": AlarmOptions(epoch_steps=300)}
    promise = grouped("recommended", {"accepted_error": 0.1, "confidence": 0.9})["promise"]
    assert promise == PromiseOptions(0.1, 0.9)
    with pytest.raises(InputError, match="confidence needs accepted_error"):
        grouped("recommended", {"confidence": 0.9})
    with pytest.raises(InputError, match="epoch_steps needs alarm=True, got False"):
        grouped("recommended", {"epoch_steps": 300, "alarm": False})


def test_ranges_include_their_bounds(subtests: pytest.Subtests) -> None:
    """The smallest and the largest value of an option are allowed."""
    bounds: list[tuple[str, Any]] = [
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
        ("lags", tuple(range(1, 9))),
        ("lags", (255,)),
        ("seed", 2**32 - 1),
    ]
    for name, value in bounds:
        with subtests.test(name=name, value=value):
            options = options_from("recommended", grouped("recommended", {name: value}))
            groups = (options, options.paper, options.alarm)
            assert value in [getattr(group, name) for group in groups if hasattr(group, name)]
