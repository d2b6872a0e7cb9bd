# SPDX-License-Identifier: Apache-2.0
"""The site's playground in Chromium: its decisions, first picture, size, and axe's findings.

Needs npm (axe-core), clang-19, lld-19, esbuild and Chromium (`make tools`); a minute on one core.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser

from results.result import Row, measure
from tests.fixtures.browser import DESK, PHONE, axe_faults, axe_script, chromium, opened
from tools.playground.page import build
from tools.playground.visit import SETTINGS, STREAMS, choose, differing_columns, move, settled

MOST_BYTES, MOST_SECONDS = 400_000, 1.0
WIDTHS = ((DESK, "dark"), (PHONE, "light"))
FIRST = "performance.getEntriesByName('drawn')[0].startTime"


def differing(browser: Browser, page_file: Path, folder: Path, *, short: bool) -> Row:
    """Return how many columns of the page's decisions differ from those of the command line."""
    count, runs = 0, 0
    with opened(browser, page_file) as view:
        for stream, fault, severity in STREAMS[: 1 if short else None]:
            choose(view.page, "source", stream)
            choose(view.page, "fault", fault)
            move(view.page, "severity", severity)
            for setting in SETTINGS:
                settled(view.page, *setting)
                count += len(differing_columns(folder, view.page))
                runs += 1
    what = f"columns that differ from `tcuq run`, {runs} runs: {len(STREAMS)} streams, 3 settings"
    return Row(what, "0", str(count), count == 0)


def first_picture(browser: Browser, page_file: Path, *, short: bool) -> Row:
    """Return the seconds until the first stream is decided and drawn, in new windows."""
    seconds = []
    for _ in range(1 if short else 7):
        with opened(browser, page_file) as view:
            seconds.append(view.page.evaluate(FIRST) / 1000)
    median = float(np.median(seconds))
    measured = f"{median:.2f} (at most {max(seconds):.2f})"
    what = f"seconds to the first picture, median of {len(seconds)} windows"
    return Row(what, f"≤ {MOST_SECONDS:g}", measured, median <= MOST_SECONDS)


def findings(browser: Browser, page_file: Path) -> Row:
    """Return what axe finds on each stream, at both widths, in both themes."""
    axe, count = axe_script(), 0
    for width, scheme in WIDTHS:
        with opened(browser, page_file, width, scheme) as view:  # type: ignore[arg-type]
            for stream in dict.fromkeys(stream for stream, _, _ in STREAMS):
                choose(view.page, "source", stream)
                count += len(axe_faults(view.page, axe)) + len(view.complaints)
    what = f"axe's findings, 3 streams at {DESK} and {PHONE} pixels, dark and light"
    return Row(what, "0", str(count), count == 0)


def rows(short: bool) -> Iterator[Row]:
    """Yield the rows of a freshly built page."""
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        page_file = build(folder / "app.html")
        size = page_file.stat().st_size
        yield Row("bytes in all", f"≤ {MOST_BYTES:,}", f"{size:,}", size <= MOST_BYTES)
        yield first_picture(browser, page_file, short=short)
        yield findings(browser, page_file)
        yield differing(browser, page_file, folder, short=short)


if __name__ == "__main__":
    measure("playground", rows, tools=("chromium",))
