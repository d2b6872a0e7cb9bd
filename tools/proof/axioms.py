# SPDX-License-Identifier: Apache-2.0
"""The proof's axioms, proved from their own text over all values of 32 bits, or 64 if they say so.

WP leaves shifts and masks without numbers; what the proof says of them is checked here, by bits.
"""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping

import z3

from tools.proof.constants import axioms
from tools.proof.lemma import INT32, UINT32, UINT64, Lemma

BITS = 128  # room for every product in them
VALUES = (-(2**31), 2**32 - 1)
KINDS = {"uint64_t": UINT64, "uint32_t": UINT32, "int32_t": INT32}
BY_CASES = {"log2_ascends": "every input of tcuq_log2_q10"}  # a statement of exhaustive.py
SHIFTS = (0, 31)  # a variable k is one
OPERATORS: Mapping[type[ast.operator], Callable[[z3.BitVecRef, z3.BitVecRef], z3.BitVecRef]] = {
    ast.LShift: operator.lshift, ast.RShift: operator.rshift,  # arithmetic, as z3 has it
    ast.BitAnd: operator.and_, ast.Mult: operator.mul, ast.Add: operator.add,
    ast.Sub: operator.sub, ast.BitXor: operator.xor, ast.BitOr: operator.or_,
}  # fmt: skip


def axiom_lemmas(statements: Mapping[str, str] | None = None) -> Iterator[Lemma]:
    """Yield one lemma per axiom."""
    for name, text in (statements or axioms()).items():
        if name in BY_CASES:
            continue
        *heads, body = text.split(";")
        variables = dict(pair for head in heads for pair in _variables(head))
        ranges = z3.And(*(z3.And(v >= low, v <= high) for v, low, high in variables.values()))
        terms = {n: v for n, (v, _, _) in variables.items()}
        condition, arrow, claim = body.rpartition("==>")
        if not arrow:
            yield Lemma(f"axiom {name}", ranges, _formula(claim, terms))
            continue
        given, both = _formula(condition.removesuffix("<"), terms), condition.endswith("<")
        stated_claim = _formula(claim, terms)
        if both:
            yield Lemma(f"axiom {name}", ranges, given == stated_claim)
        else:
            yield Lemma(f"axiom {name}", z3.And(ranges, given), stated_claim)


def _variables(head: str) -> Iterator[tuple[str, tuple[z3.BitVecRef, int, int]]]:
    """Yield the variables of a quantifier, each with its least and largest value."""
    kind, _, names = head.strip().removeprefix("\\forall ").partition(" ")
    for name in (n.strip() for n in names.split(",")):
        low, high = SHIFTS if name == "k" else KINDS.get(kind, VALUES)
        yield name, (z3.BitVec(name, BITS), low, high)


def _formula(text: str, variables: Mapping[str, z3.BitVecRef]) -> z3.BoolRef:
    parts = [ast.parse(part.strip(), mode="eval").body for part in text.split("&&")]
    return z3.And(*(_comparison(part, variables) for part in parts))


def _comparison(node: ast.expr, variables: Mapping[str, z3.BitVecRef]) -> z3.BoolRef:
    if not isinstance(node, ast.Compare):
        raise TypeError(ast.dump(node))
    values = [_term(part, variables) for part in (node.left, *node.comparators)]
    pairs = zip(values, node.ops, values[1:], strict=False)
    return z3.And(*(_compare(left, op, right) for left, op, right in pairs))


def _compare(left: z3.BitVecRef, op: ast.cmpop, right: z3.BitVecRef) -> z3.BoolRef:
    match op:
        case ast.LtE():
            return left <= right
        case ast.Lt():
            return left < right
        case ast.Eq():
            return z3.BoolRef((left == right).ast)
    raise TypeError(ast.dump(op))


def _term(node: ast.expr, variables: Mapping[str, z3.BitVecRef]) -> z3.BitVecRef:
    match node:
        case ast.Constant(value=int(value)):
            return z3.BitVecVal(value, BITS)
        case ast.Name(id=name):
            return variables[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_term(inner, variables)
        case ast.Call(func=ast.Name(id="tcuq_cells"), args=[left, right]):  # a product's name
            op: ast.operator = ast.Mult()
        case ast.BinOp(left=left, op=op, right=right):
            pass
        case _:
            raise TypeError(ast.dump(node))
    return OPERATORS[type(op)](_term(left, variables), _term(right, variables))
