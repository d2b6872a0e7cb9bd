# SPDX-License-Identifier: Apache-2.0
"""z3 on a goal without most of the axioms that Frama-C gives it: a prover for goals about memory.

A goal that follows from some of the axioms follows from all: leaving some out is sound. What stays
defines memory, separation, where local variables are and this project's predicates, with the axioms
named kept_. What goes is arithmetic of bits, division and products, and what follows from the
definitions anyway: z3 tries these without end.

Arguments: seconds, and the goal in SMT-LIB as Why3 writes it, each assertion under its name.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

LEFT_OUT = re.compile(
    r"Q_(?!kept|L_)|land|lor|lxor|lnot|lsl|lsr|bit_test|is_[us]int\w*_l|to_[us]int|is_to_|id_[us]int|proj_int"
    r"|two_power|int_of_addr|addr_|table|CompatOrderMult|Abs|Div|Mod|(?:add|sub|neg)_div|assoc"
    r"|Rounds|c_euclid|cmod|cdiv|is_init|set_init|tuple0|match_bool|index_bool|bool_inv"
    r"|separated_|included_|valid_|eqmem_|S\d+_inv"
)
NAME = re.compile(r"^;; (.*)$", re.MULTILINE)


def fewer(text: str) -> str:
    """Return the goal without the assertions whose name says that they are not needed."""
    return "".join(part for name, part in _parts(text) if not _left_out(name, part))


def _parts(text: str) -> Iterator[tuple[str, str]]:
    starts = [match.start() for match in NAME.finditer(text)]
    yield "", text[: starts[0]]
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[begin:end]
        yield part.partition("\n")[0].removeprefix(";; "), part


def _left_out(name: str, part: str) -> bool:
    says = "(declare" in part or "(define" in part or "(check-sat)" in part or name.endswith("'def")
    return LEFT_OUT.match(name) is not None and not says


def main() -> None:
    """Give z3 the shorter goal; its answer is the prover's."""
    seconds, path = sys.argv[1:]
    with tempfile.NamedTemporaryFile("w", suffix=".smt2") as goal:
        goal.write(fewer(Path(path).read_text("utf-8")))
        goal.flush()
        command = ["z3", f"-T:{seconds}", "auto_config=false", "smt.mbqi=false", goal.name]
        sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
