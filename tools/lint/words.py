# SPDX-License-Identifier: Apache-2.0
"""Plain technical English: phrases and names that puzzled readers do not come back."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.lint.files import name_of

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
    r"[Tt]he way of the data is": "modules follow the data flow",
    r"one a (term|class|session|process|day|device)": "one per",
    r"kind must be said": "pass kind=",
    r"lower the limit by": "retry with",
    r"own truth part": "differ from the device's counters",
    r"an hour that goes on": "advancing clock",
    r"who has (Spark|a torch)": "a user who has",
}
COMPILED = {re.compile(rf"\b{phrase}\b"): instead for phrase, instead in PHRASES.items()}
PARTICIPLES = {"said", "told", "found", "made", "kept", "held", "seen", "asked", "drawn"}
# First words of docstrings that name a thing where a function's should say what it does.
NOUNS = frozenset(
    {"A", "All", "An", "Both", "Each", "Every", "How", "Its", "Of", "One", "The", "Two", "What"}
    | {"Where", "Whether", "Which", "Why"}
)
IMPERATIVE = ("benchmark/", "results/", "tools/")
# Texts that were fixed before something was measured, and a history of decisions.
HISTORY = ("protocol.md", "CHANGELOG.md")


def violations(files: Iterable[Path]) -> Iterator[str]:
    """Yield phrases in documents and sources, and participles as names, with their places."""
    for path in files:
        if path.suffix in (".md", ".html") and path.name not in HISTORY:
            if "decisions" not in path.parts:
                yield from phrases(name_of(path), path.read_text("utf-8"))
        elif path.suffix == ".py":
            text = path.read_text("utf-8")
            if "src" in path.parts:
                yield from phrases(name_of(path), text)
            yield from participles(name_of(path), text)
            if name_of(path).startswith(IMPERATIVE):
                yield from docstrings(name_of(path), text)


def phrases(name: str, text: str) -> Iterator[str]:
    """Yield the phrases of a text that have a plainer form."""
    for phrase, instead in COMPILED.items():
        for match in phrase.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{name}:{line}: {match[0]!r}: write {instead!r}"


def participles(name: str, text: str) -> Iterator[str]:
    """Yield names that say what was done to a thing, not what it is."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=word, ctx=ast.Store()) | ast.arg(arg=word):
                pass
            case ast.FunctionDef(name=word) | ast.ClassDef(name=word):
                pass
            case _:
                continue
        if word.strip("_").lower() in PARTICIPLES:
            yield f"{name}:{node.lineno}: {word!r} says what was done to a thing, not what it is"


def docstrings(name: str, text: str) -> Iterator[str]:
    """Yield functions whose docstring is not an imperative sentence; tests state a rule."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("test_"):
            is_property = any("property" in ast.unparse(each) for each in node.decorator_list)
            first = (ast.get_docstring(node) or "").partition(" ")[0]
            if first in NOUNS and not is_property:
                yield f"{name}:{node.lineno}: {first!r} begins no imperative sentence"
