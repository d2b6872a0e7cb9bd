# SPDX-License-Identifier: Apache-2.0
"""The tree that a site builder reads: pages of all products, and repository files they link to.

Links in the repository work on a Git host. Here each is rewritten to the same page in the tree, or
to a copy of the file as text, so that every builder resolves it without a plugin.
"""

import os
import re
import shutil
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
TREE = ROOT / "build/docs"
PAGES = {
    "README.md": "index.md",
    **{
        name: name
        for name in (
            "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
            "examples/keyword-spotting/README.md", "examples/keyword-spotting/story.svg",
        )
    },
}  # fmt: skip
FOLDERS = {"docs": "", "fleet/docs": "fleet/", "benchmark/docs": "benchmark/"}
LINK = re.compile(r"(\]\()([^)\s#]+)")


def build(tree: Path = TREE) -> dict[str, str]:
    """Write the tree; return where each repository file in it came from, by its place."""
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
            text = (ROOT / name).read_text("utf-8")
            target.write_text(_rewritten(text, name, files, copies), "utf-8")
        else:
            shutil.copyfile(ROOT / name, target)
    for name, place in copies.items():
        target = tree / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    return {place: name for name, place in (files | copies).items()}


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
