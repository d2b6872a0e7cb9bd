# SPDX-License-Identifier: Apache-2.0
"""Use the playground as a visitor does, and compare its decisions with those of `tcuq run`."""

import csv
from pathlib import Path

import numpy as np
from playwright.sync_api import Page

from tcuq.cli import main

BUDGETS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
ALPHAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
# Stream, fault, severity.
STREAMS = (
    ("keywords", "mains hum", 1), ("keywords", "30 dB more gain, clipped", 2),
    ("keywords", "lost samples", 0), ("keywords", "a machine's noise", 1),
    ("gas", "drift of 16 gas sensors", 2), ("wake", "a covered microphone", 0),
)  # fmt: skip
SETTINGS = ((0.01, 0.02, 14), (0.1, 0.15, 20), (0.3, 0.5, 17))  # alpha, budget, log2 of the rate


def move(page: Page, slider: str, place: int) -> None:
    """Move a slider as its user does, and wait until the page has run again."""
    runs = page.evaluate("document.documentElement.dataset.runs")
    page.locator(f"#{slider}").fill(str(place))
    page.wait_for_function("runs => document.documentElement.dataset.runs !== runs", arg=runs)


def choose(page: Page, select: str, name: str) -> None:
    """Choose an entry of a list, and wait until the page has run again."""
    runs = page.evaluate("document.documentElement.dataset.runs")
    page.select_option(f"#{select}", name)
    page.wait_for_function("runs => document.documentElement.dataset.runs !== runs", arg=runs)


def saved(page: Page, folder: Path) -> tuple[Path, Path, Path]:
    """Save profile, stream and decisions as the user does."""
    paths = folder / "monitor.json", folder / "stream.npz", folder / "decisions.csv"
    for path in paths:
        with page.expect_download() as download:
            page.click(f"#save-{'profile' if path.suffix == '.json' else path.stem}")
        download.value.save_as(path)
    return paths


def differing_columns(folder: Path, page: Page) -> list[str]:
    """Return the columns in which the page's decisions differ from those of `tcuq run`."""
    profile, stream, decisions = saved(page, folder)
    command = ["run", str(profile), str(stream), "-o", str(folder / "run.npz")]
    if main(command) != 0:
        raise RuntimeError(f"tcuq {' '.join(command)} fails")
    with decisions.open() as file:
        rows = list(csv.DictReader(file))
    with np.load(folder / "run.npz") as run:
        if set(rows[0]) != set(run):
            return sorted(set(rows[0]) ^ set(run))
        return [
            name for name in run
            if not np.array_equal([float(row[name]) for row in rows], run[name].astype(float))
        ]  # fmt: skip


def settled(page: Page, alpha: float, budget: float, power: int) -> None:
    """Move the three settings of the monitor; the last is the rate's logarithm."""
    move(page, "alpha", ALPHAS.index(alpha))
    move(page, "budget", BUDGETS.index(budget))
    move(page, "rate", power)
