# SPDX-License-Identifier: Apache-2.0
"""The report in headless Chromium without a network."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import tcuq
from tcuq.demo import demo_stream
from tcuq.monitor import Monitor
from tcuq.reports import report
from tcuq.stages.budget import Outcome
from tests.fixtures.browser import DESK, PHONE, axe_faults, load_seconds, opened
from tests.fixtures.conformance import quiet_fit
from tests.fixtures.healthy_streams import ROUGH

KINDS = (
    "shifted", "missed", "unlabelled", "featureless", "calm", "health", "one step", "compared",
    "hostile",
)  # fmt: skip
LOAD_SECONDS = 2.0
MOST_BYTES = 2_000_000


def scrolls_sideways(page: Page) -> bool:
    """Tell whether the page is wider than its window."""
    wide: bool = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return wide


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", [(DESK, "light"), (PHONE, "dark")], ids=("desk", "phone"))
def test_page_is_complete_and_accessible(
    browser: Browser,
    axe: str,
    pages: Callable[[str], Path],
    kind: str,
    window: tuple[int, Literal["light", "dark"]],
) -> None:
    """There is no console error, no request, no serious axe fault and no overflow."""
    with opened(browser, pages(kind), *window) as tab:
        assert not scrolls_sideways(tab.page)
        faults = axe_faults(tab.page, axe)
        assert [f for f in faults if f["impact"] in ("serious", "critical")] == []
        assert tab.complaints == []


def test_timeline_is_drawn_before_the_first_frame(
    browser: Browser, pages: Callable[[str], Path]
) -> None:
    """A screenshot that waits for no animation frame shows the timeline."""
    context = browser.new_context(viewport={"width": 700, "height": 1200})
    page = context.new_page()
    page.add_init_script("window.requestAnimationFrame = () => 0")
    page.goto(pages("shifted").resolve().as_uri())
    page.locator("html[data-ready]").wait_for(state="attached")
    painted = page.evaluate(
        "[...document.querySelectorAll('canvas')].map((one) => one.getContext('2d')"
        ".getImageData(0, 0, one.width, one.height).data.some((value) => value > 0))"
    )
    assert painted
    assert all(painted)
    context.close()


def test_hostile_names_are_text(
    browser: Browser, pages: Callable[[str], Path], hostile: str
) -> None:
    """Untrusted names are shown as text, run nothing and end no element."""
    with opened(browser, pages("hostile")) as tab:
        page = tab.page
        shown = hostile.replace("\u202e", "\ufffd").replace("\udcff", "\ufffd")
        assert page.text_content("h1") == shown
        assert page.title() == f"{shown}: tcuq report"
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 2  # the data and page.js
        page.mouse.move(*middle_of(page))
        assert "</script><script>alert(3)" in str(page.text_content("#readout"))
        assert tab.complaints == []


def middle_of(page: Page) -> tuple[float, float]:
    """Scroll to the first panel and return its middle."""
    panel = page.locator("canvas.panel").first
    panel.scroll_into_view_if_needed()
    box = panel.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_zoom_shows_the_decision_of_single_steps(
    browser: Browser, pages: Callable[[str], Path], profile: tcuq.Profile
) -> None:
    """The tooltip of a step has the device's decision."""
    trace = Monitor(profile).run(demo_stream("fault_clipping"))
    words = {Outcome.ACCEPT: "accepted", Outcome.ABSTAIN: "abstained", Outcome.DENIED: "denied"}
    with opened(browser, pages("shifted")) as tab:
        page = tab.page
        assert "a pixel" in str(page.text_content("#span"))
        page.locator("button.go").first.click()
        page.locator("#span", has_text="every step").wait_for()
        x, y = middle_of(page)
        for offset in (-200, 0, 200):
            page.mouse.move(x + offset, y)
            match = re.match(
                r"Step ([\d,]+): risk ([\d.]+), threshold ([\d.]+), (\w+)",
                str(page.text_content("#readout")),
            )
            assert match is not None
            step = int(match[1].replace(",", ""))
            assert float(match[2]) == pytest.approx(trace.risk[step], abs=6e-4)
            assert float(match[3]) == pytest.approx(trace.threshold[step], abs=6e-4)
            assert match[4] == words[Outcome(int(trace.outcome[step]))]
        assert tab.complaints == []


def test_tooltip_names_the_cause_of_an_alarm(
    browser: Browser, pages: Callable[[str], Path]
) -> None:
    """The middle of an alarm's span is its step, and the tooltip has the statistic."""
    with opened(browser, pages("health")) as tab:
        page = tab.page
        page.locator(".chips button.go").first.click()
        page.locator("#span", has_text="every step").wait_for()
        x, y = middle_of(page)
        texts = []
        for offset in range(20, 60, 4):  # the plot lies to the right of its labels
            page.mouse.move(x + offset, y)
            texts.append(str(page.text_content("#readout")))
        assert any(f"· alarm: {ROUGH}" in text for text in texts), texts
        assert tab.complaints == []


def test_keys_buttons_and_drags_move_the_span(
    browser: Browser, pages: Callable[[str], Path]
) -> None:
    """Every zoom control changes the span, and Home shows all."""

    def shown(page: Page) -> str:
        page.wait_for_timeout(100)  # a frame or two
        return str(page.text_content("#span")).partition(":")[0]

    with opened(browser, pages("shifted")) as tab:
        page = tab.page
        whole = shown(page)
        page.locator("#stage").focus()
        for key in ("+", "ArrowRight", "-"):
            before = shown(page)
            page.keyboard.press(key)
            assert shown(page) != before, key
        page.keyboard.press("Home")
        assert shown(page) == whole
        page.locator('[data-act="in"]').click()
        assert shown(page) != whole
        page.locator('[data-act="all"]').click()
        x, y = middle_of(page)
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 150, y)
        page.mouse.up()
        assert shown(page) != whole
        page.mouse.dblclick(x, y)
        assert shown(page) == whole
        assert tab.complaints == []


def test_print_shows_everything_in_light(browser: Browser, pages: Callable[[str], Path]) -> None:
    """The printed page has no buttons, no dark background and no overflow."""
    with opened(browser, pages("shifted"), 720, "dark") as tab:
        page = tab.page
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert not scrolls_sideways(page)
        assert not page.locator('[data-act="in"]').is_visible()
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == "rgb(255, 255, 255)"
        assert len(page.pdf(format="A4")) > 10_000
        assert tab.complaints == []


def test_long_stream_loads_fast_and_is_small(
    browser: Browser, tmp_path: Path, synthetic: Callable[..., tcuq.Stream]
) -> None:
    """200,000 steps: at most 2 MB, drawn in 2 seconds of all processes' CPU time."""
    profile = quiet_fit(synthetic(5000, starts=[2500]))
    stream = synthetic(200_000, seed=1, shifted=np.arange(200_000) >= 150_000)
    path = tmp_path / "long.html"
    path.write_text(report({"a": profile}, stream, rounds=0), "utf-8")
    assert path.stat().st_size <= MOST_BYTES
    spent = [load_seconds(browser, path)[1] for _ in range(5)]
    assert min(spent) < LOAD_SECONDS, spent  # the least: other processes only add to it
