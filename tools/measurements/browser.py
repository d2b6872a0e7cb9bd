# SPDX-License-Identifier: Apache-2.0
"""Pages in Debian's headless Chromium with the network off, and what axe says of them."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Dialog, Page, Request, sync_playwright

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
AXE = "axe-core@4"
READY = "html[data-ready]"  # page.js sets it after its first drawing
DESK, PHONE = 1400, 390
Scheme = Literal["light", "dark"]


@dataclass(slots=True)
class View:
    """A page, and all that it complained of or asked for beyond its own file."""

    page: Page
    complaints: list[str] = field(default_factory=list)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with a fresh profile."""
    program = shutil.which("chromium")
    if program is None:
        raise FileNotFoundError("chromium is missing: make tools")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def opened(
    browser: Browser, path: Path, width: int = DESK, scheme: Scheme = "light"
) -> Iterator[View]:
    """A file in a window of this width, drawn, with the network off."""
    own = path.resolve().as_uri()
    with visited(browser, own, own, width, scheme, offline=True) as view:
        yield view


@contextmanager
def visited(
    browser: Browser, url: str, own: str, width: int = DESK, scheme: Scheme = "light",
    *, offline: bool = False,
) -> Iterator[View]:  # fmt: skip
    """A page in a window of this width, drawn; it may ask for what begins with `own`."""
    size = {"width": width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=scheme, offline=offline)  # type: ignore[arg-type]
    view = View(context.new_page())
    complain = view.complaints.append

    def refuse(dialog: Dialog) -> None:
        complain(f"dialog: {dialog.message}")
        dialog.dismiss()

    def count(request: Request) -> None:
        if not request.url.startswith(own):
            complain(f"request: {request.url}")

    view.page.on("console", lambda message: complain(f"{message.type}: {message.text}"))
    view.page.on("pageerror", lambda error: complain(f"error: {error}"))
    view.page.on("dialog", refuse)
    view.page.on("request", count)
    view.page.goto(url)
    view.page.wait_for_selector(READY)
    yield view
    context.close()


def load_seconds(browser: Browser, path: Path) -> tuple[float, float]:
    """Until a page is drawn: by the clock, and of CPU time in all of the browser's processes."""
    before, started = _cpu_seconds(browser), time.monotonic()
    with opened(browser, path):
        waited, after = time.monotonic() - started, _cpu_seconds(browser)
    return waited, sum(spent - before.get(process, 0.0) for process, spent in after.items())


def _cpu_seconds(browser: Browser) -> dict[int, float]:
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return {process["id"]: process["cpuTime"] for process in processes}


def axe_script(folder: Path) -> str:
    """The accessibility checker, from npm by its name, kept in a folder."""
    script = folder / "node_modules/axe-core/axe.min.js"
    if not script.is_file():
        npm = shutil.which("npm")
        if npm is None:
            raise FileNotFoundError("npm is missing: make tools")
        subprocess.run([npm, "install", "--silent", "--prefix", str(folder), AXE], check=True)
    return script.read_text("utf-8")


def axe_faults(page: Page, script: str) -> list[dict[str, Any]]:
    """Every violation that axe finds: its rule, its impact and where."""
    page.evaluate(script)
    violations: list[dict[str, Any]] = page.evaluate(
        "axe.run().then(({violations}) => violations.map(({id, impact, nodes}) =>"
        " ({id, impact, where: nodes.map(({html}) => html.slice(0, 200))})))"
    )
    return violations
