# SPDX-License-Identifier: Apache-2.0
"""Plain technical English: phrases and names that puzzled readers do not come back."""

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcuq import cli

ROOT = Path(__file__).parents[2]
# Each was once in a text for users; the second column is what to write instead.
PHRASES = {
    r"stranger": "untrusted",
    r"nobody from outside": "untrusted clients",
    r"dealings?": "random splits",
    r"dummies": "trivial baselines",
    r"devices that never were": "simulated devices",
    r"told a story": "run with recordings",
    r"asks at \d": "would withhold",
    r"said in place of": "predicted instead of",
    r"is mended": "is fixed",
    r"(a|an) (row|record|message|file) (a|an) (device|hour|day|month)": "per",
    r"[Rr]ecords? an hour": "per hour",
    r"on the books": "counted",
    r"[Ww]ho (ends|has|sends|wants) \w+ (is|has|sends)": "a subject and a verb",
    r"neighbours in the numbering": "consecutive ids",
}
PARTICIPLES = {"said", "told", "found", "made", "kept", "held", "seen", "asked", "drawn"}
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if "decisions" not in path.parts
    and path.name != "protocol.md"  # fixed before the data were seen
)
TEMPLATES = sorted((ROOT / "src").rglob("*.html"))
SOURCES = sorted((ROOT / "src/tcuq").rglob("*.py"))
CODE = sorted(p for d in ("src", "tests", "tools", "benchmark") for p in (ROOT / d).rglob("*.py"))


@pytest.mark.parametrize("path", [*PAGES, *TEMPLATES, *SOURCES], ids=lambda path: path.name)
def test_dropped_phrases_do_not_come_back(path: Path) -> None:
    """Documents, page templates and source texts use the field's words."""
    text = path.read_text("utf-8")
    matches = {
        match[0]: instead
        for phrase, instead in PHRASES.items()
        for match in re.finditer(rf"\b{phrase}\b", text)
    }
    assert not matches, f"{path.relative_to(ROOT)}: write instead: {matches}"


def assigned_names(tree: ast.AST) -> Iterator[str]:
    """Yield the names of variables, parameters, functions and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg


@pytest.mark.parametrize("path", CODE, ids=lambda path: path.name)
def test_participles_are_no_names(path: Path) -> None:
    """A name says what a thing is, not what was done to it."""
    names = {name.strip("_").lower() for name in assigned_names(ast.parse(path.read_text("utf-8")))}
    assert not names & PARTICIPLES


def help_texts(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str | None]]:
    """Yield each option of a parser and of its subcommands, with its help text."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other list of options
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for subparser in action.choices.values():
                yield from help_texts(subparser)
        else:
            yield f"{parser.prog} {action.option_strings or action.dest}", action.help


def test_every_option_has_a_help_text_that_stands_alone() -> None:
    """`--help` explains an option without the line before it: "of that promise" does not."""
    fragments = {
        option: text
        for option, text in help_texts(cli._parser())  # noqa: SLF001
        if text is None or re.match(r"(of|its|to|and|or|per|for|from|the) |default\b", text)
    }
    assert not fragments
