# SPDX-License-Identifier: Apache-2.0
"""Pages of the built site in Chromium: what a window of 1400 or of 390 pixels would cut off."""

import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser

from results.result import ROOT
from tests.fixtures.browser import DESK, PHONE, chromium

# At 1400 pixels tables, pictures, signatures and diagrams (text with lines drawn in it) fit into
# the page as they are. On a phone a table may scroll in its own box, but no page scrolls sideways
# and nothing is hidden behind an edge.
SCRIPT = """wide => {
  const cut = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) cut.push(`the page is ${root.scrollWidth} pixels wide`);
  const parts = '.md-content :is(table, img, svg, .doc-signature code, pre code)';
  for (const part of document.querySelectorAll(parts)) {
    if (part.closest('.highlighttable') || part.closest('details:not([open])')) continue;
    if (part.matches('pre code') && !/[─│▼►]/.test(part.innerText)) continue;
    let box = part;
    while (box !== root && getComputedStyle(box).overflowX === 'visible') box = box.parentElement;
    const scrolls = ['auto', 'scroll'].includes(getComputedStyle(box).overflowX);
    if (box.scrollWidth > box.clientWidth + 1 && (wide || !scrolls))
      cut.push(`${part.tagName} of ${box.scrollWidth} in ${box.clientWidth} pixels`);
  }
  return cut;
}"""
UNFOLD = "document.querySelectorAll('details').forEach(part => { part.open = true; })"


def cut_off(browser: Browser, site: Path) -> Iterator[str]:
    """Yield everything that is cut off, with its page and the width of the window."""
    page = browser.new_context(offline=True).new_page()
    for path in sorted(site.rglob("*.html")):
        page.goto(path.resolve().as_uri(), wait_until="domcontentloaded")
        page.evaluate(UNFOLD)
        for width in (DESK, PHONE):
            page.set_viewport_size({"width": width, "height": 900})
            for part in page.evaluate(SCRIPT, width == DESK):
                yield f"{path.relative_to(site)} at {width}: {part}"
        for frame in page.frames[1:]:
            if not frame.query_selector("main"):
                yield f"{path.relative_to(site)}: a frame shows no page, {frame.url}"


def main() -> int:
    """Check the site in `site`; 1 if it has no pages or something is cut off."""
    site = ROOT / "site"
    pages = len(list(site.rglob("*.html")))
    with chromium() as browser:
        parts = list(cut_off(browser, site))
    print("\n".join([*parts, f"site: {pages} pages, {len(parts)} parts cut off"]))
    return 1 if parts or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
