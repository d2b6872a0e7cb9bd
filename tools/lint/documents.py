# SPDX-License-Identifier: Apache-2.0
"""Documents: links lead somewhere, the layers' table and the references are complete."""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tcuq.telemetry import SIZES
from tools.lint.files import ROOT, name_of
from tools.site.tree import GENERATED

LINK = re.compile(r"\]\(([^)\s#]+)")
RECORD = re.compile(r"(\d+)-byte \[?record|record (?:is|has) (\d+) bytes")
EXTRAS = re.compile(r"\btcuq\[([a-z,]+)\]")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
TABLE = "| layer (imports point down) | modules |\n|---|---|\n"
ENTRY = re.compile(r"^::: (\S+)\n((?:    .*\n)*)", re.MULTILINE)
# Modules without an interface of their own in Python, and where their interface is described.
ELSEWHERE = {
    "calibrate": "docs/quickstart.md",  # its functions are those of tcuq
    "cli": "docs/command-line.md",
    "profile": "docs/spec/profile.md",  # its class is tcuq's
    "recording": "docs/spec/stream.md",
    "runtime": "docs/reference/c.md",
    "stages": "docs/concepts.md",
    "version": "CHANGELOG.md",
}
HEADERS = (
    "runtime/tcuq.h",
    "runtime/tcuq_status.h",
    "runtime/tcuq_health.h",
    "uplink/tcuq_uplink.h",
    "uplink/tcuq_sign.h",
    "uplink/tcuq_tag.h",
    "ota/tcuq_verify.h",
    "ota/tcuq_blob.h",
    "ota/tcuq_slots.h",
)
DECLARATION = re.compile(
    r"^(?:TCUQ_MUST_CHECK )?[a-z][\w ]*[ *](tcuq_\w+)\(([^()]*)\);", re.MULTILINE
)
ENUM = re.compile(r"^typedef enum \{(.*?)^\}", re.MULTILINE | re.DOTALL)
CONTRACT = ("at the same time|one caller at a time", "nterrupt", "align", "Undefined")
MOST_LINES = {"README.md": 150}
MOST_PROSE = 12


def violations(files: Iterable[Path]) -> Iterator[str]:
    """Yield what is wrong in the documents."""
    for path in files:
        if path.suffix == ".md":
            text = path.read_text("utf-8")
            yield from broken_links(path, text)
            yield from other_records(path, text)
            yield from unknown_extras(path, text)
            most = MOST_LINES.get(name_of(path))
            if most is not None and len(text.splitlines()) > most:
                yield f"{name_of(path)}: has {len(text.splitlines())} lines, more than {most}"
    yield from layers()
    yield from reference()
    for header in HEADERS:
        yield from undocumented(header, (ROOT / "src/tcuq" / header).read_text("utf-8"))
    yield from versions()


def broken_links(path: Path, text: str) -> Iterator[str]:
    """Yield links to files that do not exist."""
    for target in LINK.findall(FENCED.sub("", text)):
        if "://" in target or target.startswith("mailto:"):
            continue
        if not (path.parent / target).exists() and target not in GENERATED:
            yield f"{name_of(path)}: links to {target}, which does not exist"


def unknown_extras(path: Path, text: str) -> Iterator[str]:
    """Yield extras that pip would not find: it only warns of them."""
    for names in EXTRAS.findall(text):
        for name in sorted(set(names.split(",")) - extras()):
            yield f"{name_of(path)}: tcuq has no extra {name!r}"


@cache
def extras() -> frozenset[str]:
    """Return the library's extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return frozenset(project["optional-dependencies"])


def other_records(path: Path, text: str) -> Iterator[str]:
    """Yield sizes of a telemetry record that no version of it has."""
    for number in (int(a or b) for a, b in RECORD.findall(text)):
        if number not in SIZES.values():
            sizes = " or ".join(map(str, SIZES.values()))
            yield f"{name_of(path)}: a record has {sizes} bytes, not {number}"


def layers() -> Iterator[str]:
    """Yield where ARCHITECTURE.md's table differs from the packages and from import-linter."""
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    prose = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    if (count := len(re.findall(r"^[^#|\n]", prose, re.MULTILINE))) > MOST_PROSE:
        yield f"ARCHITECTURE.md: at most {MOST_PROSE} lines of text, has {count}"
    table = page.partition(TABLE)[2].partition("\n\n")[0]
    if not table:
        yield f"ARCHITECTURE.md: must have a table that begins with {TABLE.splitlines()[0]!r}"
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (ordered,) = (one["layers"] for one in contracts if one.get("containers") == ["tcuq"])
    names = [re.findall(r"`([^`]+)`", line.rsplit("|", 2)[1]) for line in table.splitlines()]
    rows = [sorted(row) for row in names]
    expected = [sorted(layer.split(" | ")) for layer in ordered]
    for row in expected:
        if row not in rows:
            yield f"ARCHITECTURE.md: no row of the layers' table is {', '.join(row)}"
    if not (extra := [row for row in rows if row not in expected]) and rows != expected:
        yield "ARCHITECTURE.md: the layers' table has another order than pyproject.toml"
    for row in extra:
        yield f"ARCHITECTURE.md: {', '.join(row)} is no layer of pyproject.toml"


def reference() -> Iterator[str]:
    """Yield public modules and names of the library that the Python reference leaves out."""
    pages = sorted((ROOT / "docs/reference").glob("py*.md"))
    entries = ENTRY.findall("".join(path.read_text("utf-8") for path in pages))
    members_of = {module: _members(options) for module, options in entries}
    package = ROOT / "src/tcuq"
    modules = {path.stem for path in package.glob("[!_]*.py")}
    modules |= {path.parent.name for path in package.glob("[!_]*/__init__.py")}
    top = exported(package / "__init__.py")
    for name in sorted(modules - set(ELSEWHERE)):
        own = [entry for entry in members_of if f"{entry}.".startswith(f"tcuq.{name}.")]
        if not own and not any(name in line for line in _imports(package / "__init__.py", top)):
            yield f"docs/reference: add `::: tcuq.{name}`"
    for entry, members in members_of.items():
        names = exported(_source(entry))
        if missing := sorted(names - members) if members and entry != "tcuq" else []:
            yield f"docs/reference: `::: {entry}` leaves out {', '.join(missing)}"
    known = {name for members in members_of.values() for name in members}
    known |= {entry.rpartition(".")[2] for entry in members_of} | {
        "OUT_OF_DISTRIBUTION",
        "__version__",
    }
    if missing := sorted(top - known):
        yield f"docs/reference: no page shows tcuq.{', tcuq.'.join(missing)}"
    for page in ELSEWHERE.values():
        if not (ROOT / page).is_file():
            yield f"docs/reference: {page} does not exist"


def _members(options: str) -> set[str]:
    listed = re.search(r"members:\s*\[([^\]]+)\]", options)
    return {name.strip() for name in listed[1].split(",")} if listed else set()


def _source(entry: str) -> Path:
    """Return the file of a documented module; the package's if the entry names an object."""
    for source in ("src", "fleet/src"):
        place = ROOT / source / entry.replace(".", "/")
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return path
    return ROOT / "src/tcuq/version.py"


def exported(path: Path) -> set[str]:
    """Return the names in a module's `__all__`."""
    for node in ast.parse(path.read_text("utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return set(ast.literal_eval(value))
    return set()


def _imports(path: Path, names: set[str]) -> list[str]:
    """Return the modules from which a module imports some of these names."""
    return [
        node.module or ""
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and {alias.name for alias in node.names} & names
    ]


def undocumented(header: str, text: str) -> Iterator[str]:
    """Yield parameters and enum values of public C that no comment names, and missing contracts."""
    for declaration in DECLARATION.finditer(text):
        before = text[: declaration.start()].rstrip()
        comment = before[before.rfind("/*") :] if before.endswith("*/") else ""
        words = [re.findall(r"\w+", one)[-1] for one in declaration[2].split(",")]
        for word in words:
            if word != "void" and not re.search(rf"\b{word}\b", comment):
                yield f"{header}: the comment of {declaration[1]} must name {word}"
    for body in ENUM.findall(text):
        for line in body.splitlines():
            if " = " in line and "/*" not in line:
                yield f"{header}: a comment must explain {line.split()[0]}"
    if header.startswith(("runtime/", "uplink/tcuq_uplink")) and DECLARATION.search(text):
        for word in CONTRACT:
            if not re.search(word, text):
                yield f"{header}: must state threads, interrupts, alignment, what is undefined"


def versions() -> Iterator[str]:
    """Yield products, changelog and citation whose versions differ."""
    pattern = re.compile(
        r'^(?:__version__ = "|version: "?|## \[|#define TCUQ_VERSION ")(\d+\.\d+\.\d+)',
        re.MULTILINE,
    )
    names = (
        "src/tcuq/version.py",
        "src/tcuq/runtime/tcuq.h",
        "fleet/src/tcuq_fleet/version.py",
        "CITATION.cff",
        "CHANGELOG.md",
    )
    numbers = {}
    for name in names:
        match = pattern.search((ROOT / name).read_text("utf-8"))
        numbers[name] = match[1] if match else "none"
    if len(set(numbers.values())) > 1:
        yield f"versions differ: {', '.join(f'{name} {one}' for name, one in numbers.items())}"
    texts = {name: (ROOT / name).read_bytes() for name in ("LICENSE", "fleet/LICENSE")}
    if len(set(texts.values())) > 1:
        yield "fleet/LICENSE: differs from LICENSE"
