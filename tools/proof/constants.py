# SPDX-License-Identifier: Apache-2.0
"""The runtime's numbers as its own files state them: #defines, tables and the proof's axioms."""

import ast
import operator
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.fixtures.firmware.toolchain import OTA, RUNTIME, UPLINK

DEFINE = re.compile(r"^#define (TCUQ_\w+) (.+?)(?: */\*.*)?$", re.MULTILINE)
TABLE = re.compile(r"^const \w+ (tcuq_\w+)\[\d+\] = \{(.*?)\};", re.MULTILINE | re.DOTALL)
AXIOM = re.compile(r"axiom (\w+): (.*?);\n", re.DOTALL)
SHARE = re.compile(r"\(k == (\d) ==> share == (\d+)\)")
CAST = re.compile(r"\(u?int\d+_t\)")
NUMBER = re.compile(r"\b(0x[0-9A-Fa-f]+|\d+)[uU]?\b")
LIMITS = {"UINT16_MAX": 2**16 - 1, "INT32_MAX": 2**31 - 1, "INT32_MIN": -(2**31),
          "UINT32_MAX": 2**32 - 1}  # fmt: skip
BINARY = {ast.LShift: operator.lshift, ast.FloorDiv: operator.floordiv, ast.Mult: operator.mul,
          ast.Add: operator.add, ast.Sub: operator.sub}  # fmt: skip


def defines(runtime: Path = RUNTIME) -> dict[str, int]:
    """Read every #define of the runtime that is a number."""
    numbers: dict[str, int] = {}
    for path in sorted([*runtime.glob("tcuq*.h"), *runtime.glob("tcuq*.c")]):
        for name, text in DEFINE.findall(path.read_text("utf-8")):
            value = _value(text.strip(), LIMITS | numbers)
            if value is not None:
                numbers[name] = value
    return numbers


def tables(runtime: Path = RUNTIME) -> dict[str, tuple[int, ...]]:
    """Read every constant table."""
    text = (runtime / "tcuq_tables.c").read_text("utf-8")
    return {
        name: tuple(int(number) for number in re.findall(r"(\d+)u", body))
        for name, body in TABLE.findall(text)
    }


def axioms(folders: Sequence[Path] = (RUNTIME, UPLINK, OTA)) -> dict[str, str]:
    """Read the axioms of the proof, each as one line."""
    files = (path for folder in folders for path in sorted(folder.glob("tcuq_acsl*.h")))
    text = "".join(path.read_text("utf-8") for path in files)
    return {name: " ".join(body.split()) for name, body in AXIOM.findall(text)}


def shares(runtime: Path = RUNTIME) -> tuple[int, ...]:
    """Read the values of tcuq_share_q15 as TCUQ_SHARES states them."""
    pairs = SHARE.findall((runtime / "tcuq_acsl_past.h").read_text("utf-8"))
    return tuple(int(share) for _, share in sorted(pairs))


def _value(text: str, known: Mapping[str, int]) -> int | None:
    try:
        plain = NUMBER.sub(r"\1", CAST.sub("", text))
        tree = ast.parse(plain.replace("/", "//"), mode="eval")
        return _evaluate(tree.body, known)
    except (SyntaxError, KeyError, TypeError):
        return None


def _evaluate(node: ast.expr, known: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return known[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_evaluate(inner, known)
        case ast.BinOp(left=left, op=op, right=right):
            apply = BINARY[type(op)]
            return int(apply(_evaluate(left, known), _evaluate(right, known)))
    raise TypeError(ast.dump(node))
