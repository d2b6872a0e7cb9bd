# SPDX-License-Identifier: Apache-2.0
"""Conventions of source files: licence line, length, imports, no traces of a merge."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.lint.files import name_of

TAG = "SPDX-License-Identifier"  # apart, or REUSE would read the next line as a licence
LICENCE = f"# {TAG}: Apache-2.0\n"
SOURCES = (".py", ".c", ".h", ".js", ".css", ".html")
GENERATED = ("examples/keyword-spotting/weights.h",)
LONGEST = 400
LONGEST_C = 300  # of host and tools; contracts lengthen the runtime's files
SHORT_C = (
    "src/engine/",
    "fleet/src/simulator/",
    "src/tcuq/uplink/",
    "src/tcuq/ota/",
    "tools/fuzz/",
)
CONFLICT = re.compile(rb"^(<{7} |>{7} )", re.MULTILINE)
PATH_EDITS = ("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort")
# Tests and products use nothing of the tools; see ARCHITECTURE.md.
WITHOUT_TOOLS = ("tests/", "src/", "fleet/", "benchmark/", "docs/", "examples/")


def violations(files: Iterable[Path]) -> Iterator[str]:
    """Yield broken conventions, with their places."""
    for path in files:
        name, data = name_of(path), path.read_bytes()
        if CONFLICT.search(data):
            yield f"{name}: holds a marker of an unfinished merge"
        if path.suffix in SOURCES and name not in GENERATED:
            lines = len(data.splitlines())
            short = path.suffix in (".c", ".h") and name.startswith(SHORT_C)
            most = LONGEST_C if short else LONGEST
            if lines > most:
                yield f"{name}: has {lines} lines, more than {most}: it is two things"
        if path.suffix == ".py":
            yield from in_python(name, data.decode())


def in_python(name: str, text: str) -> Iterator[str]:
    """Yield what a Python file breaks."""
    if not text.startswith(LICENCE):
        yield f"{name}:1: the first line must be {LICENCE.strip()!r}"
    tree = ast.parse(text)
    for edit in path_edits(tree):
        yield f"{name}: {edit!r} changes where Python looks for modules"
    if name.startswith(WITHOUT_TOOLS):
        for node in ast.walk(tree):
            match node:
                case ast.ImportFrom(module=str(module)) if module.split(".")[0] == "tools":
                    yield f"{name}:{node.lineno}: only tools import {module}"
                case ast.Import(names=names) if any(n.name.startswith("tools") for n in names):
                    yield f"{name}:{node.lineno}: only tools import tools"


def path_edits(tree: ast.AST) -> list[str]:
    """Return statements that change where Python looks for modules."""
    edits = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) if any(name.name == "runpy" for name in names):
                edits.append(ast.unparse(node))
            case ast.ImportFrom(module="runpy"):
                edits.append(ast.unparse(node))
            case ast.Call(func=ast.Attribute(value=target, attr=attr)) if attr in PATH_EDITS:
                edits += [ast.unparse(node)] if ast.unparse(target) == "sys.path" else []
            case ast.Assign(targets=[target, *_]) | ast.AugAssign(target=target):
                edits += [ast.unparse(node)] if ast.unparse(target)[:8] == "sys.path" else []
    return edits
