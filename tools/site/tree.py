# SPDX-License-Identifier: Apache-2.0
"""The tree that a site builder reads: pages of all products, and repository files they link to.

Links in the repository work on a Git host. Here each is rewritten to the same page in the tree, or
to a copy of the file as text, so that every builder resolves it without a plugin. Each page ends
with links to all versions, to its source and to its editor.
"""

import os
import re
import shutil
import tomllib
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
TREE = ROOT / "build/docs"
PAGES = {
    "README.md": "overview.md",
    **{
        name: name
        for name in (
            "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
            "examples/keyword-spotting/README.md", "examples/keyword-spotting/story.svg",
        )
    },
}  # fmt: skip
GENERATED = ("playground/app.html",)  # by tools.playground.page, into the tree
FOLDERS = {"docs": "", "fleet/docs": "fleet/", "benchmark/docs": "benchmark/"}
GITHUB = "https://github.com/"
HOSTED = "https://colab.research.google.com/github/"  # then the repository, "blob", version, file
LINK = re.compile(r"(\]\()([^)\s#]+)")
VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


def build(tree: Path = TREE, address: str | None = None) -> dict[str, str]:
    """Write the tree; return where each repository file in it came from, by its place."""
    if address is None:
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
        address = settings["tool"]["tcuq"]["address"]
    shutil.rmtree(tree, ignore_errors=True)
    files = {name: place for name, place in PAGES.items() if (ROOT / name).is_file()}
    for folder, place in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(ROOT).as_posix()
                files[name] = place + path.relative_to(ROOT / folder).as_posix()
    copies: dict[str, str] = {}
    for name, place in files.items():
        target = tree / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".md"):
            text = _rewritten((ROOT / name).read_text("utf-8"), name, files, copies)
            target.write_text(text.rstrip() + _footer(name, place, address), "utf-8")
            if not address:
                copies[name] = f"repository/{name}.txt"
        else:
            shutil.copyfile(ROOT / name, target)
    for name, place in copies.items():
        target = tree / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    return {place: name for part in (files, copies) for name, place in part.items()}


def _footer(name: str, place: str, address: str) -> str:
    """Return a page's last line: versions, the page's source and editor, its notebook if any."""
    version = VERSION.findall((ROOT / "src/tcuq/version.py").read_text("utf-8"))[0]

    def beside(other: str) -> str:
        return os.path.relpath(other, PurePosixPath(place).parent)

    targets = {"all versions": beside("CHANGELOG.md")}
    if address:
        targets["releases"] = f"{address}/releases"
        targets["source of this page"] = f"{address}/blob/v{version}/{name}"
        targets["edit it"] = f"{address}/edit/main/{name}"
        notebook = PurePosixPath(name).with_suffix(".ipynb")
        if address.startswith(GITHUB) and (ROOT / notebook).is_file():
            repository = address.removeprefix(GITHUB)
            targets["open in Colab"] = f"{HOSTED}{repository}/blob/v{version}/{notebook}"
    else:
        targets["source of this page"] = beside(f"repository/{name}.txt")
        targets["change it"] = beside("CONTRIBUTING.md")
    links = " · ".join(f"[{text}]({target})" for text, target in targets.items())
    return f"\n\n---\n\ntcuq {version} · {links}\n"


def _rewritten(text: str, name: str, files: dict[str, str], copies: dict[str, str]) -> str:
    """Return a page with its links to files pointing into the tree; note files to copy."""
    folder = PurePosixPath(files[name]).parent

    def link(match: re.Match[str]) -> str:
        linked = os.path.normpath(PurePosixPath(name).parent / match[2])
        if not (ROOT / linked).is_file():
            return match[0]  # an address, or a broken link that the strict build names
        # As text, so that a browser shows it and no README becomes a page of its own.
        place = files.get(linked) or copies.setdefault(linked, f"repository/{linked}.txt")
        return match[1] + os.path.relpath(place, folder)

    return LINK.sub(link, text)


if __name__ == "__main__":
    print(f"{len(build())} files in {TREE.relative_to(ROOT)}")
