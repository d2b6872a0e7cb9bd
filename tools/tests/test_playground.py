# SPDX-License-Identifier: Apache-2.0
"""The site's playground in Chromium: the command line's decisions, and one-line refusals."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import tcuq
from tcuq.cli import main
from tcuq.demo import demo_profile, demo_stream
from tests.fixtures.browser import DESK, PHONE, Scheme, View, axe_faults, opened
from tools.playground.page import build

MOST_BYTES = 400_000
BUDGETS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
ALPHAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
# Stream, fault, severity.
STREAMS = (
    ("keywords", "mains hum", 1), ("keywords", "30 dB more gain, clipped", 2),
    ("keywords", "lost samples", 0), ("keywords", "a machine's noise", 1),
    ("gas", "drift of 16 gas sensors", 2), ("wake", "a covered microphone", 0),
)  # fmt: skip
SETTINGS = ((0.01, 0.02, 14), (0.1, 0.15, 20), (0.3, 0.5, 17))  # alpha, budget, log2 of the rate


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the page."""
    return build(tmp_path_factory.mktemp("playground") / "app.html")


def move(page: Page, slider: str, place: int) -> None:
    """Move a slider as its user does, and wait until the page has run again."""
    runs = page.evaluate("document.documentElement.dataset.runs")
    page.locator(f"#{slider}").fill(str(place))
    page.wait_for_function("runs => document.documentElement.dataset.runs > runs", arg=runs)


def choose(page: Page, select: str, name: str) -> None:
    """Choose an entry of a list, and wait until the page has run again."""
    runs = page.evaluate("document.documentElement.dataset.runs")
    page.select_option(f"#{select}", name)
    page.wait_for_function("runs => document.documentElement.dataset.runs > runs", arg=runs)


def give(page: Page, *files: Path) -> str:
    """Give the page files; return its refusal."""
    before = page.evaluate("[document.documentElement.dataset.runs, refused.textContent].join()")
    page.set_input_files("#files", files)
    page.wait_for_function(
        "before => [document.documentElement.dataset.runs, refused.textContent].join() !== before",
        arg=before,
    )
    return page.inner_text("#refused")


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
    assert main(["run", str(profile), str(stream), "-o", str(folder / "run.npz")]) == 0
    with decisions.open() as file:
        rows = list(csv.DictReader(file))
    with np.load(folder / "run.npz") as run:
        assert set(rows[0]) == set(run)
        return [
            name for name in run
            if not np.array_equal([float(row[name]) for row in rows], run[name].astype(float))
        ]  # fmt: skip


def test_the_page_decides_as_the_command_line(
    browser: Browser, page_file: Path, tmp_path: Path
) -> None:
    """Six streams at three settings: every column of every step is equal."""
    with opened(browser, page_file) as view:
        for stream, fault, severity in STREAMS:
            choose(view.page, "source", stream)
            choose(view.page, "fault", fault)
            move(view.page, "severity", severity)
            for alpha, budget, power in SETTINGS:
                move(view.page, "alpha", ALPHAS.index(alpha))
                move(view.page, "budget", BUDGETS.index(budget))
                move(view.page, "rate", power)
                assert differing_columns(tmp_path, view.page) == [], (stream, fault, alpha)


def test_the_pages_profile_is_what_fit_gives(
    browser: Browser, page_file: Path, tmp_path: Path
) -> None:
    """At each setting the saved profile has the hash of one that is fitted with these options."""
    with opened(browser, page_file) as view:
        for alpha, budget, power in SETTINGS:
            move(view.page, "alpha", ALPHAS.index(alpha))
            move(view.page, "budget", BUDGETS.index(budget))
            move(view.page, "rate", power)
            profile, _, _ = saved(view.page, tmp_path)
            alarm = tcuq.AlarmOptions(1 << power)
            fitted = tcuq.fit(demo_stream("calibration"), alpha=alpha, budget=budget, alarm=alarm)
            assert tcuq.Profile.load(profile).sha256 == fitted.sha256


def test_own_files_decide_as_the_command_line(
    browser: Browser, page_file: Path, tmp_path: Path
) -> None:
    """A profile and a stream of one's own, as .npz and as lines, with and without settings."""
    profile, stream = tmp_path / "own.json", demo_stream("fault_offset")
    demo_profile().save(profile)
    stream.save(tmp_path / "own.npz")
    assert stream.features is not None
    rows = np.hstack([stream.posteriors, stream.features])
    lines = [",".join(map(repr, row)) for row in rows[:300].tolist()]
    lines.insert(200, "")
    (tmp_path / "own.csv").write_text("\n".join(lines))
    with opened(browser, page_file) as view:
        for name in ("own.npz", "own.csv"):
            assert give(view.page, profile, tmp_path / name) == ""
            assert differing_columns(tmp_path, view.page) == []
            assert view.page.is_disabled("#alpha")
        stream = tcuq.Stream.load(tmp_path / "stream.npz")
        assert stream.starts.tolist() == [0, 200]


def broken_files(folder: Path) -> dict[str, str]:
    """Write files that break a rule; return by name what the refusal must say."""
    stream = demo_stream("test")[:50]
    stream.save(folder / "whole.npz")
    content = (folder / "whole.npz").read_bytes()
    (folder / "cut.npz").write_bytes(content[:-30])
    damaged = bytearray(content)
    damaged[200:260] = bytes(60)
    (folder / "damaged.npz").write_bytes(damaged)
    np.savez(folder / "nothing.npz", other=np.zeros(3))
    np.savez(folder / "narrow.npz", posteriors=np.full((9, 3), 1 / 3), kind="probabilities")
    np.savez(folder / "objects.npz", posteriors=np.array([{}]), kind="probabilities")
    np.savez(folder / "logits.npz", posteriors=np.zeros((9, 10)), kind="logits")
    (folder / "short.csv").write_text("0.5,0.5\n")
    (folder / "words.csv").write_text(",".join(["0.1"] * 42) + "\n" + ",".join(["x"] * 42))
    (folder / "profile.json").write_text("[1, 2")
    altered = json.loads(demo_profile().to_json())
    altered["threshold"]["anchor"] += 1
    (folder / "altered.json").write_text(json.dumps(altered))
    (folder / "stream.parquet").write_bytes(b"PAR1")
    return {
        "cut.npz": "it is no .npz file", "damaged.npz": "damaged",
        "nothing.npz": "posteriors are missing", "narrow.npz": "must be rows of 10",
        "objects.npz": "must hold numbers", "logits.npz": "the stream of kind logits",
        "short.csv": "line 1 must have 42", "words.csv": "line 2 must hold numbers",
        "profile.json": "profile must be JSON", "altered.json": "profile.sha256 must be",
        "stream.parquet": "must end in .json, .npz or .csv",
    }  # fmt: skip


def test_broken_files_are_refused_in_one_line(
    browser: Browser, page_file: Path, tmp_path: Path
) -> None:
    """Damaged, foreign and unfit files: their name and the rule, and what was shown stays."""
    for name, rule in broken_files(tmp_path).items():
        with opened(browser, page_file) as view:
            summary = view.page.inner_text("#summary")
            refusal = give(view.page, tmp_path / name)
            assert refusal.startswith(f"{name}: ")
            assert rule in refusal
            assert "\n" not in refusal
            assert view.page.inner_text("#summary") == summary
            assert view.complaints == []


def accessible(view: View, axe: str) -> bool:
    """Return whether axe finds nothing, nothing is cut off and nothing is requested."""
    assert view.complaints == []
    assert axe_faults(view.page, axe) == []
    return bool(view.page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.parametrize(("width", "scheme"), [(DESK, "dark"), (PHONE, "light")])
def test_the_page_is_accessible_offline(
    browser: Browser, page_file: Path, axe: str, width: int, scheme: Scheme
) -> None:
    """In both widths and themes, with the network off, on every stream."""
    with opened(browser, page_file, width, scheme) as view:
        assert accessible(view, axe)
        for stream in ("gas", "wake"):
            choose(view.page, "source", stream)
            assert accessible(view, axe)


def test_a_keyboard_reads_every_step(browser: Browser, page_file: Path) -> None:
    """The arrows move the step, which a screen reader says in words; Play and Stop are buttons."""
    with opened(browser, page_file) as view:
        page = view.page
        page.focus("#step")
        before = int(page.input_value("#step"))
        page.keyboard.press("ArrowRight")
        words = page.get_attribute("#step", "aria-valuetext") or ""
        assert words.startswith(f"Step {before + 1}: the model says")
        page.focus("#play")
        page.keyboard.press("Enter")
        assert page.inner_text("#play") == "Stop"
        page.keyboard.press("Enter")
        assert page.inner_text("#play") == "Play"


def test_the_page_is_small(page_file: Path) -> None:
    """The C, streams, profiles, script and style weigh at most 400 kB."""
    assert page_file.stat().st_size <= MOST_BYTES
