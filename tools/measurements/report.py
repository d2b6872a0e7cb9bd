# SPDX-License-Identifier: Apache-2.0
"""The report in headless Chromium with the network off: size, time to draw, accessibility."""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser

import tcuq
from results.result import Row, figure, measure
from tcuq.demo import demo_profile, demo_stream
from tcuq.reports import report as page_of
from tests.fixtures.browser import (
    DESK,
    PHONE,
    axe_faults,
    axe_script,
    axe_version,
    chromium,
    load_seconds,
    opened,
)
from tests.fixtures.conformance import quiet_fit

LONG, LONGER = 200_000, 1_000_000
MOST_BYTES = 2_000_000


def noisy(steps: int, seed: int) -> tcuq.Stream:
    """Return steps whose risk is noise, which does not compress; the last third is shifted."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.integers(0, 10, steps // 20 + 1), 20)[:steps]
    features = np.random.default_rng(0).normal(size=(10, 8))[labels] + rng.normal(size=(steps, 8))
    logits = 1.5 * rng.normal(size=(steps, 10))
    logits[np.arange(steps), labels] += 2.5
    shifted = np.arange(steps) > 0.7 * steps
    return tcuq.Stream(logits, features, labels, kind="logits", shifted=shifted)


def write_page(folder: Path, name: str, profile: tcuq.Profile, stream: tcuq.Stream) -> Path:
    """Write a stream's page and return its path."""
    path = folder / f"{name}.html"
    path.write_text(page_of({"monitor.json": profile}, stream, name, rounds=0), "utf-8")
    return path


def size_row(path: Path, what: str) -> Row:
    """Return whether a page is small enough."""
    size = path.stat().st_size
    return Row(f"page of {what}, bytes", "≤ 2,000,000", f"{size:,}", size <= MOST_BYTES)


def time_rows(browser: Browser, path: Path, rounds: int) -> Iterator[Row]:
    """Yield the seconds until a page is drawn."""
    times = [load_seconds(browser, path) for _ in range(rounds)]
    clock = sorted(waited for waited, _ in times)
    cpu = statistics.median(spent for _, spent in times)
    yield Row(
        f"{LONG:,} steps drawn, seconds by the clock, best of {rounds} and median",
        "< 2",
        f"{clock[0]:.2f} and {statistics.median(clock):.2f}",
        clock[0] < 2,
    )
    yield Row(
        f"{LONG:,} steps drawn, CPU seconds of all processes, median", "< 2", f"{cpu:.2f}", cpu < 2
    )


def fault_rows(browser: Browser, paths: list[Path]) -> Iterator[Row]:
    """Yield faults that axe and the browser report, on a desk and on a phone, light and dark."""
    script, faults, complaints, views = axe_script(), [], [], 0
    for path in paths:
        for width in (DESK, PHONE):
            for scheme in ("light", "dark"):
                with opened(browser, path, width, scheme) as view:
                    faults += axe_faults(view.page, script)
                    complaints += view.complaints
                    views += 1
    grave = [fault for fault in faults if fault["impact"] in ("serious", "critical")]
    over = f"{views} views: two widths, light and dark"
    yield Row(f"axe's serious or critical faults, {over}", "0", str(len(grave)), not grave)
    yield figure("axe's other faults, the same views", str(len(faults) - len(grave)))
    yield Row(
        "console messages, requests and dialogs, network off, the same views",
        "0",
        str(len(complaints)),
        not complaints,
    )


def rows(short: bool) -> Iterator[Row]:
    """Yield bytes, seconds and faults of pages with long streams and with the demo's."""
    test = demo_stream("test")
    bare = tcuq.Stream(test.posteriors, test.features, kind=test.kind, starts=test.starts)
    profile = quiet_fit(noisy(20_000, 1))
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        long = write_page(folder, "long", profile, noisy(LONG, 2))
        yield size_row(long, f"{LONG:,} steps of noise")
        if not short:
            longer = write_page(folder, "longer", profile, noisy(LONGER, 2))
            yield size_row(longer, f"{LONGER:,} steps of noise")
        fault = demo_stream("fault_clipping")
        labelled = write_page(folder, "fault_clipping", demo_profile(), fault)
        yield size_row(labelled, "the demo's stream with a fault")
        unlabelled = write_page(folder, "unlabelled", demo_profile(), bare)
        yield from time_rows(browser, long, 3 if short else 9)
        yield from fault_rows(browser, [long, labelled, unlabelled])


if __name__ == "__main__":
    measure(
        "report",
        rows,
        ("playwright", "scikit-learn"),
        tools=("chromium",),
        more=lambda: {"axe_core": axe_version()},
    )
