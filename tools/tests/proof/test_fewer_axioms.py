# SPDX-License-Identifier: Apache-2.0
"""The prover that leaves axioms out: what it keeps, and that it proves nothing false."""

import subprocess
import sys
from pathlib import Path

from tools.proof import fewer_axioms
from tools.proof.fewer_axioms import fewer

HEAD = "(set-logic ALL)\n;; limit\n(declare-fun limit () Int)\n"
LEMMA = ";; separated_trans\n(assert (< limit 0))\n"
DEFINITION = ";; valid_rw'def\n(assert (= limit 5))\n"
GOAL = ";; Goal wp_goal\n(assert (not (> limit 4)))\n(check-sat)\n"


def answer(path: Path, text: str) -> str:
    """Return the first line that the prover prints."""
    path.write_text(text, "utf-8")
    command = [sys.executable, fewer_axioms.__file__, "5", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]


def test_lemmas_go_and_definitions_stay() -> None:
    """Declarations, definitions and the goal itself are never left out."""
    assert fewer(HEAD + LEMMA + DEFINITION + GOAL) == HEAD + DEFINITION + GOAL


def test_where_local_variables_are_stays() -> None:
    """Without it nothing says that a write to a local variable leaves the monitor as it was."""
    local = ";; Q_L_read_1942_region\n(assert (> limit 0))\n"
    lemma = ";; Q_cells_square\n(assert (< limit 9))\n"
    assert fewer(HEAD + local + lemma + GOAL) == HEAD + local + GOAL


def test_a_goal_is_proved_by_what_is_left(tmp_path: Path) -> None:
    """A goal that follows from the definitions is proved."""
    assert answer(tmp_path / "goal.smt2", HEAD + LEMMA + DEFINITION + GOAL) == "unsat"


def test_a_goal_that_needs_what_is_left_out_stays_open(tmp_path: Path) -> None:
    """Fewer axioms prove less, never more."""
    assert answer(tmp_path / "goal.smt2", HEAD + LEMMA + GOAL) != "unsat"
