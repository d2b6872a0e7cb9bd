# SPDX-License-Identifier: Apache-2.0
"""The dashboard in headless Chromium."""

import re
from collections.abc import Callable

import psycopg
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.fixtures.browser import DESK, PHONE, Scheme, axe_faults, visited

MOST_PHONE_PX = 2500
PAGES = {
    "fleet": "/",
    "group": "/group?firmware=1.8.0",
    "suspects": "/suspects?site=tromso",
    "alarms": "/alarms",
    "runbook": "/runbook",
    "device": "/device/{suspect}",
    "error": "/search?q=tomato",
}


def scrolls_sideways(page: Page) -> bool:
    """Return whether the page is wider than its window."""
    scrolls: bool = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return scrolls


def renew(page: Page) -> None:
    """Make the page refresh itself, as it does every half minute."""
    count = int(page.evaluate("document.documentElement.dataset.renewed ?? 0"))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_selector(f'html[data-renewed="{count + 1}"]')


@pytest.fixture(scope="module")
def page_of(address: str, suspect: str) -> Callable[[str], str]:
    """Return a function from a page's name to its URL."""
    return lambda name: address + PAGES[name].format(suspect=suspect)


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("window", [(DESK, "light"), (PHONE, "dark")], ids=("desk", "phone"))
def test_page_is_complete_and_accessible(
    browser: Browser, axe: str, page_of: Callable[[str], str], name: str, window: tuple[int, Scheme]
) -> None:
    """The page has no errors, foreign requests, serious axe faults or horizontal scrolling."""
    url = page_of(name)
    with visited(browser, url, url[: url.index("/", 8)], *window) as visit:
        assert not scrolls_sideways(visit.page)
        expected = ["error: Failed to load resource"] if name == "error" else []
        assert [message[:30] for message in visit.complaints] == expected
        faults = axe_faults(visit.page, axe)
        assert [f for f in faults if f["impact"] in ("serious", "critical")] == []


def test_the_fleets_page_is_short_on_a_phone(browser: Browser, address: str) -> None:
    """Alarms come first, each with a next step, and the page is three windows long."""
    with visited(browser, address, address, PHONE) as visit:
        page = visit.page
        assert page.evaluate("document.documentElement.scrollHeight") <= MOST_PHONE_PX
        expect(page.locator("main h2").first).to_have_text("Open alarms")
        alarms = page.locator(".alarms li")
        assert alarms.locator(".step").count() == alarms.count() > 1


def test_walk_from_an_alarm_to_its_runbook(browser: Browser, address: str, seeded: str) -> None:
    """The first alarm is acknowledged on the fleet's page, and its runbook is one click away."""
    with (
        psycopg.connect(seeded, autocommit=True) as connection,
        visited(browser, address, address) as visit,
    ):
        page = visit.page
        first = page.locator(".alarms li").first
        subject = first.get_by_role("link").first.text_content()
        first.get_by_role("button", name="Acknowledge").click()
        try:
            mine = page.locator(".alarms li", has_text=str(subject))
            expect(mine.get_by_text("acknowledged by local")).to_be_visible()
        finally:
            connection.execute("UPDATE alarms SET acknowledged = NULL, acknowledged_by = NULL")
        mine.get_by_role("link", name="Runbook").click()
        expect(page).to_have_url(re.compile(r"/runbook#TcuqChanged$"))
        expect(page.locator("#TcuqChanged h2")).to_be_in_viewport()
        assert visit.complaints == []


def test_walk_from_the_fleet_to_a_shared_link(browser: Browser, address: str) -> None:
    """Fleet, stricter level, group and device; the copied URL shows the same elsewhere."""
    with visited(browser, address, address) as visit:
        page = visit.page
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_text("Other levels").click()
        page.get_by_role("navigation", name="False-discovery level").get_by_text(
            "0.01", exact=True
        ).click()
        name = re.compile(r"Firmware 1\.8\.0: \d+ of 1,250 devices unlike calibration")
        page.get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Firmware 1.8.0")
        page.get_by_role("region", name="Devices unlike calibration").get_by_role(
            "link"
        ).first.click()
        expect(
            page.get_by_text("bits are needed at level 0.01: it is unlike calibration")
        ).to_be_visible()
        device = page.get_by_role("heading", level=1).text_content()
        page.get_by_role("button", name="Copy link").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        shared = page.evaluate("navigator.clipboard.readText()")
        assert visit.complaints == []
    with visited(browser, shared, address, PHONE, "dark") as visit:
        expect(visit.page.get_by_role("heading", level=1)).to_have_text(str(device))
        expect(visit.page.get_by_text("at level 0.01: it is unlike calibration")).to_be_visible()


def test_filters_and_search_are_in_the_url(browser: Browser, address: str, suspect: str) -> None:
    """The URL holds the filters, and going back restores them."""
    with visited(browser, f"{address}/?level=0.1", address) as visit:
        page = visit.page
        page.get_by_label("Firmware").select_option("1.8.0")
        page.get_by_label("Site").fill("lyon")
        page.get_by_role("button", name="Show").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Firmware 1.8.0, site lyon")
        query = page.url.partition("?")[2]
        assert {"firmware=1.8.0", "site=lyon", "level=0.1"} <= set(query.split("&"))
        page.keyboard.press("/")
        page.keyboard.type(suspect.upper())
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(suspect)
        assert page.url.endswith(f"/device/{suspect}?level=0.1")
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("Firmware 1.8.0, site lyon")


def test_a_refresh_keeps_scroll_focus_and_input(
    browser: Browser, address: str, seeded: str
) -> None:
    """New figures appear; scroll, focus, typed text and opened details stay."""
    with (
        psycopg.connect(seeded, autocommit=True) as connection,
        visited(browser, address, address) as visit,
    ):
        page = visit.page
        page.get_by_label("Site").fill("ber")
        page.locator("details").first.evaluate("e => e.open = true")
        page.locator(".spans a").last.focus()
        page.evaluate("scrollTo(0, 500)")
        before = page.evaluate("scrollY")
        connection.execute(
            "INSERT INTO alarms (kind, state, firmware, owner, evidence)"
            " VALUES ('group', 'escalated', 33554432, 0, 99)"
        )
        try:
            renew(page)
        finally:
            connection.execute("DELETE FROM alarms WHERE evidence = 99")
        expect(page.get_by_role("link", name="Firmware 2.0.0").first).to_be_visible()
        assert page.evaluate("scrollY") == before
        assert page.evaluate("document.activeElement.textContent") == "7 d"
        assert page.get_by_label("Site").input_value() == "ber"
        assert page.locator("details").first.evaluate("e => e.open")
        renew(page)
        expect(page.locator(".alarms").get_by_role("link", name="Firmware 2.0.0")).to_have_count(0)
        assert visit.complaints == []


def test_a_lost_server_is_reported(browser: Browser, address: str) -> None:
    """The last state stays and is marked as old until the server answers again."""
    with visited(browser, address, address) as visit:
        page = visit.page
        page.route("**/*", lambda route: route.abort())
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(page.get_by_role("status")).to_contain_text("no answer since")
        page.unroute("**/*")
        renew(page)
        expect(page.get_by_role("status")).to_have_text("")


def test_theme_is_the_systems_until_chosen(browser: Browser, address: str) -> None:
    """The theme follows the system until one is chosen, which then holds on all pages."""
    background = "getComputedStyle(document.body).backgroundColor"
    with visited(browser, address, address, scheme="dark") as visit:
        page = visit.page
        assert page.evaluate(background) == "rgb(13, 17, 23)"
        page.get_by_role("button", name="Theme: system").click()
        assert page.evaluate(background) == "rgb(255, 255, 255)"
        page.goto(f"{address}/alarms")
        assert page.evaluate(background) == "rgb(255, 255, 255)"
        page.get_by_role("button", name="Theme: light").click()
        page.get_by_role("button", name="Theme: dark").click()
        assert page.get_by_role("button", name="Theme: system").is_visible()
        assert page.evaluate(background) == "rgb(13, 17, 23)"


def test_charts_show_tooltips(browser: Browser, address: str) -> None:
    """Pointing at an hour shows its figures, and leaving it shows the note again."""
    with visited(browser, address, address) as visit:
        chart = visit.page.locator("figure", has_text="Records per hour")
        chart.locator(".tooltip").nth(5).hover()
        expect(chart.locator(".readout")).to_contain_text("records,")
        visit.page.mouse.move(5, 5)
        expect(chart.locator(".readout")).to_have_text("The last bar is the current hour")


def test_all_works_without_scripts(browser: Browser, address: str) -> None:
    """Levels, groups and filters are links and forms."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    page.get_by_text("Other levels").click()
    page.get_by_role("link", name="0.001").click()
    page.get_by_label("Firmware").select_option("1.8.0")
    page.get_by_role("button", name="Show").click()
    assert page.url.endswith("/group?profile=&firmware=1.8.0&site=&level=0.001")
    expect(page.get_by_role("heading", level=1)).to_have_text("Firmware 1.8.0")
    context.close()
