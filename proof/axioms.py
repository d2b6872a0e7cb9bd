# SPDX-License-Identifier: Apache-2.0
"""The axioms of tcuq_acsl.h, proved from their own text over all values of 32 bits.

WP leaves shifts and masks without numbers; what the proof says of them is checked here, by bits.
"""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping

import z3

from proof.constants import axioms
from proof.lemma import Lemma, lemma

BITS = 64  # room for every product in them
VALUES = (-(2**31), 2**32 - 1)
OPERATORS: Mapping[type[ast.operator], Callable[[z3.BitVecRef, z3.BitVecRef], z3.BitVecRef]] = {
    ast.LShift: operator.lshift, ast.RShift: operator.rshift,  # arithmetic, as z3 has it
    ast.BitAnd: operator.and_, ast.Mult: operator.mul, ast.Add: operator.add,
}  # fmt: skip


def axiom_lemmas(stated: Mapping[str, str] | None = None) -> Iterator[Lemma]:
    """One lemma an axiom."""
    for name, text in (stated or axioms()).items():
        head, _, body = text.partition(";")
        kind, _, names = head.removeprefix("\\forall ").partition(" ")
        low = 0 if kind == "uint32_t" else VALUES[0]
        variables = {n.strip(): z3.BitVec(n.strip(), BITS) for n in names.split(",")}
        ranges = z3.And(*(z3.And(v >= low, v <= VALUES[1]) for v in variables.values()))
        condition, arrow, claim = body.rpartition("==>")
        given = _formula(condition, variables) if arrow else z3.BoolVal(val=True)
        yield lemma(f"axiom {name}", z3.And(ranges, given), _formula(claim, variables))


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
        case ast.Call(func=ast.Name(id="tcuq_cells"), args=[left, right]):  # a product's name
            op: ast.operator = ast.Mult()
        case ast.BinOp(left=left, op=op, right=right):
            pass
        case _:
            raise TypeError(ast.dump(node))
    return OPERATORS[type(op)](_term(left, variables), _term(right, variables))
