# SPDX-License-Identifier: Apache-2.0
"""A statement over integers that z3 proves or refutes, and the ranges it speaks of."""

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import z3

INT8 = (-(2**7), 2**7 - 1)
INT16 = (-(2**15), 2**15 - 1)
UINT16 = (0, 2**16 - 1)
INT32 = (-(2**31), 2**31 - 1)
UINT32 = (0, 2**32 - 1)
UINT64 = (0, 2**64 - 1)

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Lemma:
    """What is claimed wherever what is given holds."""

    name: str
    given: z3.BoolRef
    claim: z3.BoolRef

    def holds(self) -> bool:
        """Return whether no values refute it; an answer z3 does not find is no proof."""
        solver = z3.Solver()
        solver.set("timeout", 30_000)
        solver.add(self.given, z3.Not(self.claim))
        return bool(solver.check() == z3.unsat)


@dataclass(frozen=True, slots=True)
class Tried:
    """What is claimed of so few values that all are tried."""

    name: str
    check: Callable[[], bool]

    def holds(self) -> bool:
        """Return whether it holds for every value."""
        return self.check()


Statement = Lemma | Tried


def check_all(statements: Iterable[Statement]) -> None:
    """Print each statement, whether it holds and the seconds it took; exit with 1 if one fails."""
    failed = 0
    for statement in statements:
        begin = time.monotonic()
        holds = statement.holds()
        failed += not holds
        seconds = time.monotonic() - begin
        print(f"{'holds' if holds else 'FAILS'}  {statement.name}, {seconds:.0f} s", flush=True)
    sys.exit(1 if failed else 0)


def within(value: z3.ArithRef | int, bounds: Range) -> z3.BoolRef:
    """State that a value lies in a range, both ends included."""
    return z3.And(value >= bounds[0], value <= bounds[1])


def product_range(left: Range, right: Range) -> Range:
    """Return the range of a product, by its corners."""
    corners = [a * b for a in left for b in right]
    return min(corners), max(corners)


def sum_fits(name: str, term: Range, count: int, start: Range, kind: Range) -> Lemma:
    """State that a sum of at most `count` terms stays in its C type at every step.

    By induction: after i terms it lies in start + i · term, and the next one keeps it there.
    """
    i, total, added = z3.Ints("i total added")
    low, high = start[0] + i * term[0], start[1] + i * term[1]
    given = z3.And(
        i >= 0, i < count, total >= low, total <= high, within(added, term), within(total, kind)
    )
    after = total + added
    claim = z3.And(after >= low + term[0], after <= high + term[1], within(after, kind))
    return Lemma(name, given, claim)
