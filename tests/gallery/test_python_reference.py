# SPDX-License-Identifier: Apache-2.0
"""The Python reference covers every public module, and every public name of it."""

import importlib
import re
from pathlib import Path

import pytest

import tcuq

ROOT = Path(__file__).parents[2]
PAGES = "".join(
    path.read_text("utf-8") for path in sorted((ROOT / "docs/reference").glob("py*.md"))
)
ENTRIES = re.findall(r"^::: (\S+)\n((?:    .*\n)*)", PAGES, re.MULTILINE)
TOP = {path.stem for path in (ROOT / "src/tcuq").glob("[!_]*.py")} | {
    path.parent.name for path in (ROOT / "src/tcuq").glob("[!_]*/__init__.py")
}
# Modules without an interface of their own in Python, and where their interface is described.
ELSEWHERE = {
    "cli": "docs/command-line.md",
    "runtime": "docs/reference/c.md",
    "stages": "docs/concepts.md",
    "recording": "docs/spec/stream.md",
    "version": "CHANGELOG.md",
    "calibrate": "docs/quickstart.md",  # its functions are those of tcuq
    "profile": "docs/spec/profile.md",  # the same
}


def members(options: str) -> set[str]:
    """Return the names that an entry of the reference shows of its module."""
    listed = re.search(r"members: \[([^\]]+)\]", options)
    return {name.strip() for name in listed[1].split(",")} if listed else set()


def documented() -> set[str]:
    """Return every dotted name that the pages show."""
    names = {f"{module}.{name}" for module, options in ENTRIES for name in members(options)}
    return names | {module for module, _ in ENTRIES}


@pytest.mark.parametrize("module", sorted(TOP - set(ELSEWHERE)))
def test_public_module_is_in_the_reference(module: str) -> None:
    """The module, a name in it, or a name of tcuq that it defines, is on a page."""
    names = documented()
    own = {name for name in names if f"{name}.".startswith(f"tcuq.{module}.")}
    public = {name.removeprefix("tcuq.") for name in names}
    defined = {
        name
        for name in tcuq.__all__
        if getattr(getattr(tcuq, name), "__module__", "").startswith(f"tcuq.{module}")
    }
    assert own or (defined and defined <= public), f"add `::: tcuq.{module}` to docs/reference"


@pytest.mark.parametrize(("module", "options"), ENTRIES, ids=lambda entry: entry.split("\n")[0])
def test_every_public_name_of_a_module_is_shown(module: str, options: str) -> None:
    """A module with `__all__` shows all of it; every name that a page shows exists."""
    shown = members(options)
    head, _, last = module.rpartition(".")
    try:
        target = importlib.import_module(module)
    except ModuleNotFoundError:
        assert hasattr(importlib.import_module(head), last)
        return
    assert all(hasattr(target, name) for name in shown)
    if shown and module != "tcuq":
        assert set(getattr(target, "__all__", ())) <= shown


def test_names_of_the_library_are_shown() -> None:
    """Every name of `tcuq.__all__` is on a page, wherever it is defined."""
    names = {name.rpartition(".")[2] for name in documented()}
    constants = {"OUT_OF_DISTRIBUTION", "__version__"}
    errors = {name for name in tcuq.__all__ if name.endswith(("Error", "Warning"))}
    assert "tcuq.errors" in documented()
    assert set(tcuq.__all__) - constants - errors <= names


@pytest.mark.parametrize("page", sorted(set(ELSEWHERE.values())))
def test_other_pages_exist(page: str) -> None:
    """A module that is described elsewhere has its page."""
    assert (ROOT / page).is_file()
