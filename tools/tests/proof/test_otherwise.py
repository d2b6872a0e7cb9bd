# SPDX-License-Identifier: Apache-2.0
"""Goals that are proved otherwise: by a lemma, or by running every input."""

from dataclasses import replace

import pytest

from tests.fixtures.firmware.toolchain import ToolError
from tools.proof import run
from tools.proof.axioms import BY_CASES
from tools.proof.exhaustive import SHORT, Function, functions
from tools.proof.widths import lemmas
from tools.proof.wp import Proof, sources

ZEROS, LOG2, RSQRT = functions()
GOAL = "typed_tcuq_leading_zeros_ensures"


def proof(*unproved: str) -> Proof:
    """Return a proof of tcuq_math.c with these goals open."""
    return Proof("tcuq_math.c", frozenset({"typed_other"}), frozenset(unproved), ())


@pytest.mark.parametrize("function", functions(), ids=lambda function: function.name)
def test_some_inputs_of_each_function(function: Function) -> None:
    """Inputs apart, the first and the last are as the contract says."""
    assert function.holds(SHORT)


@pytest.mark.parametrize(
    "wrong",
    [
        replace(ZEROS, condition="r <= 30"),
        replace(ZEROS, first=0),
        replace(LOG2, condition="x != 0xFFFFFFFFu"),
        replace(RSQRT, condition="r >= 20000"),
        replace(LOG2, condition="x < 2u || r > log2_wide(x - 1u)"),
    ],
    ids=["too few zeros", "no input", "the last input", "too large a root", "strictly ascending"],
)
def test_a_wrong_condition_does_not_hold(wrong: Function) -> None:
    """One input that is not as claimed is enough."""
    assert not wrong.holds(SHORT)


def test_an_index_outside_a_table_is_no_proof() -> None:
    """The sanitizers see what no condition asks for."""
    assert not replace(RSQRT, last=0x40000000, condition="1").holds(SHORT)


def test_a_condition_that_is_no_c_is_an_error() -> None:
    """What does not compile neither holds nor fails."""
    with pytest.raises(ToolError, match="exit code"):
        replace(ZEROS, condition="r <=").holds(SHORT)


def test_each_entry_names_a_statement() -> None:
    """Every goal has a lemma, or a run of its own function; every run has a goal."""
    names = {lemma.name for lemma in lemmas()}
    runs = {function.statement: function for function in functions()}
    listed = run.otherwise_goals()
    assert listed.keys() <= set(sources())
    used = [(goal, why) for goals in listed.values() for goal, why in goals.items()]
    assert {why for _, why in used} - names == runs.keys()
    assert set(BY_CASES.values()) <= runs.keys()
    assert all(g.startswith(f"typed_{runs[why].name}_") for g, why in used if why in runs)


def test_no_goal_is_open_and_proved_otherwise() -> None:
    """The two lists share no goal."""
    unproved = run.unproved_goals()
    for source, goals in run.otherwise_goals().items():
        assert not goals.keys() & unproved.get(source, {}).keys()


def test_a_goal_without_a_statement_is_refused() -> None:
    """So is one whose statement does not hold."""
    assert list(run.refused("tcuq_math.c", {GOAL: "nothing"}, {"other": True})) == [
        f"tcuq_math.c: {GOAL}: there is no statement 'nothing'"
    ]
    assert list(run.refused("tcuq_math.c", {GOAL: "a"}, {"a": False})) == [
        f"tcuq_math.c: {GOAL}: 'a' does not hold"
    ]
    assert list(run.refused("tcuq_math.c", {GOAL: "a"}, {"a": True})) == []


def test_the_gate_failed_on_a_quiet_machine() -> None:
    """A goal that WP proves only within its last seconds may be proved otherwise too."""
    both = replace(proof(), proved=frozenset({GOAL}))
    assert list(run.complaints(both, {}, {GOAL: "a"})) == []
    assert list(run.complaints(proof(GOAL), {}, {GOAL: "a"})) == []


def test_a_goal_that_is_gone_leaves_the_list() -> None:
    """Its name would stand for nothing."""
    (complaint,) = run.complaints(proof(), {}, {GOAL: "a"})
    assert complaint.endswith("is gone; take it out of otherwise.toml")


@pytest.mark.parametrize(
    ("statement", "measured", "opened"),
    [(ZEROS.statement, "1", "1"), ("cells_mixed", "1", "1"), ("nothing", "0", "2")],
)
def test_goals_proved_otherwise_are_not_open(
    statement: str, measured: str, opened: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have a row of their own, which fails if a statement is missing."""
    few = [lemma for lemma in lemmas() if lemma.name == "cells_mixed"]
    monkeypatch.setattr(run, "lemmas", lambda: iter(few))
    unproved, otherwise = {"tcuq_math.c": {"typed_b": "why"}}, {"tcuq_math.c": {GOAL: statement}}
    rows = list(run.rows([proof(GOAL, "typed_b")], unproved, otherwise, SHORT))
    (own,) = [row for row in rows if row.what.startswith("goals proved otherwise")]
    (left,) = [row for row in rows if row.what.startswith("open goals")]
    assert (own.must, own.measured, own.passed) == ("all of 1", measured, measured == "1")
    assert left.measured == opened
