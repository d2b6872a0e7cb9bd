# SPDX-License-Identifier: Apache-2.0
"""The site's home page is the README, and links into the repository reach its files."""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
KEYWORD = "examples/keyword-spotting"
PAGES = (
    "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
    f"{KEYWORD}/README.md", f"{KEYWORD}/story.svg",
)  # fmt: skip
LINKED = re.compile(r"\]\((?:\.\./)*((?:tests|src|results|measurements|examples)/[^)#\s]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README as the index, the root's pages, and every repository file a page links to."""
    files.append(File.generated(config, "index.md", content=_from_root("README.md")))
    for name in PAGES:
        files.append(File.generated(config, name, content=_from_root(name)))
    texts = [f.content_string for f in files if f.src_uri.endswith(".md")]
    linked = {path for text in texts for path in LINKED.findall(text)}
    for path in sorted(linked.difference(PAGES)):
        # As text, so that a browser shows it and no README becomes a page of its own.
        content = (ROOT / path).read_text("utf-8")
        files.append(File.generated(config, f"{path}.txt", content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Point links to repository files at their pages or their copies in the site."""
    up = "../" * page.file.src_uri.count("/")

    def reached(link: re.Match[str]) -> str:
        return f"]({up}{link[1]}" + ("" if link[1] in PAGES else ".txt")

    return LINKED.sub(reached, markdown)


def _from_root(name: str) -> str:
    return (ROOT / name).read_text("utf-8").replace("](docs/", "](")
