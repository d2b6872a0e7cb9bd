# SPDX-License-Identifier: Apache-2.0
"""The tree that a site builder reads, and the check of what a window cuts off."""

import os
import re
from pathlib import Path

from playwright.sync_api import Browser

import tcuq
from tools.measurements.site_widths import cut_off
from tools.site.tree import GENERATED, LINK, ROOT, build

FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
WIDE = "<div style='width: 1800px'>wide</div>"
BOX = "<div class='md-content'><div style='overflow-x: {}'>{}</div></div>"


def test_every_link_of_the_tree_leads_to_a_file(tmp_path: Path) -> None:
    """Pages, pictures and repository files are where their links point, inside the tree."""
    places = build(tmp_path)
    assert (places["index.md"], places["overview.md"]) == ("docs/index.md", "README.md")
    for place in places:
        if place.endswith(".md"):
            text = FENCED.sub("", (tmp_path / place).read_text("utf-8"))
            for _, target in LINK.findall(text):
                if "://" not in target and not target.startswith("mailto:"):
                    linked = os.path.normpath(Path(place).parent / target)
                    assert linked in (*places, *GENERATED), f"{place} links to {target}"


def test_every_page_is_in_the_menu_or_linked(tmp_path: Path) -> None:
    """A reader reaches every page; the menu alone has at most 45 entries."""
    menu = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert len(menu) <= 45
    reached = set(menu)
    pages = [place for place in build(tmp_path) if place.endswith(".md")]
    for place in pages:
        for _, target in LINK.findall((tmp_path / place).read_text("utf-8")):
            reached.add(os.path.normpath(Path(place).parent / target))
    assert set(pages) <= reached


def test_cut_off_parts_are_named(browser: Browser, tmp_path: Path) -> None:
    """A wide table is named, at 390 pixels only if no box scrolls; so is a frame without a page."""
    table = f"<table><tr><td>{WIDE}</td></tr></table>"
    pages = {"scrolls": BOX.format("auto", table), "hidden": BOX.format("hidden", table)}
    pages["fits"] = BOX.format("auto", "<table><tr><td>narrow</td></tr></table>")
    pages["framed"] = "<iframe src='nothing.html'></iframe>"
    for name, body in pages.items():
        (tmp_path / f"{name}.html").write_text(f"<!doctype html><body>{body}", "utf-8")
    named = [line.partition(": ")[0] for line in cut_off(browser, tmp_path)]
    assert named == [
        "framed.html", "hidden.html at 1400", "hidden.html at 390", "scrolls.html at 1400",
    ]  # fmt: skip


def test_every_page_ends_with_its_version_source_and_editor(tmp_path: Path) -> None:
    """Without a public address the links stay inside the site."""
    for address, source in (("", "repository/docs/howto/plan.md.txt"), ("https://host/a", "docs/")):
        build(tmp_path, address)
        last = (tmp_path / "howto/plan.md").read_text("utf-8").splitlines()[-1]
        assert last.startswith(f"tcuq {tcuq.__version__} · [all versions](../CHANGELOG.md) · ")
        assert source in last
        assert ("[edit it](https://host/a/edit/main/docs/howto/plan.md)" in last) == bool(address)


def test_a_page_with_a_notebook_opens_it_in_a_hosted_service(tmp_path: Path) -> None:
    """Colab reads public repositories of GitHub; without one no address is invented."""
    notebook = f"/me/mine/blob/v{tcuq.__version__}/docs/gallery/scikit_learn.ipynb"
    for address, opens in (("", False), ("https://github.com/me/mine", True)):
        build(tmp_path, address)
        pages = {name: (tmp_path / f"gallery/{name}.md") for name in ("scikit_learn", "wake_word")}
        last = {name: page.read_text("utf-8").splitlines()[-1] for name, page in pages.items()}
        colab = f"[open in Colab](https://colab.research.google.com/github{notebook})"
        assert (colab in last["scikit_learn"]) == opens
        assert "colab" not in last["wake_word"]
