# SPDX-License-Identifier: Apache-2.0
"""Commands that results, documents, workflows and the Makefiles name: each exists."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.lint.files import ROOT, name_of

MODULE = re.compile(
    r"(?:\bpython3? -m|\$\(RUN\)) ((?:tools|results|fleet|tcuq\w*)(?:\.\w+)*)(?![\w.]*\.\$)"
)
RESULT = re.compile(r"python -m [\w.]+")
TARGET = re.compile(r"^([a-z-]+):(.*)$", re.MULTILINE)
MAKE = re.compile(r"(?:run|entry): make ([a-z][a-z -]*)")
SOURCES = ("src", "fleet/src", "benchmark/src", ".")


def violations(files: Iterable[Path]) -> Iterator[str]:
    """Yield commands that do not exist, and targets that `make help` does not explain."""
    makefiles = [p for p in files if p.name == "Makefile" and "examples" not in p.parts]
    targets = {name for path in makefiles for name, _ in TARGET.findall(path.read_text("utf-8"))}
    for path in files:
        named = path.suffix in (".md", ".json", ".yml", ".yaml") or path.name == "Makefile"
        text = path.read_text("utf-8") if named else ""
        if path.suffix == ".md" or path.name == "Makefile":
            yield from missing_modules(name_of(path), text)
        elif path.parent.name == "results" and path.suffix == ".json":
            command = json.loads(text)["command"]
            if not RESULT.match(command):
                yield f"{name_of(path)}: the command must run a module, got {command!r}"
            yield from missing_modules(name_of(path), command)
        elif ".github" in path.parts or path.name == ".pre-commit-config.yaml":
            for line in MAKE.findall(text):
                for word in set(line.split()) - targets:
                    yield f"{name_of(path)}: no Makefile has the target {word!r}"
    for path in makefiles:
        yield from unexplained(name_of(path), path.read_text("utf-8"))


def missing_modules(name: str, text: str) -> Iterator[str]:
    """Yield modules that a text runs by `python -m` and that cannot be run."""
    for module in dict.fromkeys(MODULE.findall(text)):
        place = module.replace(".", "/")
        ends = (f"{place}.py", f"{place}/__main__.py")
        if not any((ROOT / source / end).is_file() for source in SOURCES for end in ends):
            yield f"{name}: runs {module}, which does not exist"


def unexplained(name: str, text: str) -> Iterator[str]:
    """Yield targets that `make help` does not list; those that it lists are .PHONY."""
    for target, rest in TARGET.findall(text):
        if " ## " not in rest:
            yield f"{name}: {target!r} has no sentence for `make help`: add  ## Do what"
