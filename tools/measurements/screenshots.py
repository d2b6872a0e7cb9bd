# SPDX-License-Identifier: Apache-2.0
"""The pictures of the report in README and docs: `make screenshots`."""

import tempfile
from pathlib import Path

from results.result import ROOT
from tcuq.demo import demo_profile, demo_stream
from tcuq.reports import report
from tests.fixtures.browser import PHONE, chromium, opened

MOST_BYTES = 150_000
PICTURES = {"report.png": (890, "light", 830), "report-phone.png": (PHONE, "dark", 1090)}


def main() -> None:
    """Take each picture from the top of the page of the demo's failing sensor."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        path = Path(folder) / "report.html"
        page = report(
            {"monitor.json": demo_profile()}, demo_stream("fault_clipping"), "fault_clipping.npz"
        )
        path.write_text(page, "utf-8")
        for name, (width, scheme, height) in PICTURES.items():
            target = ROOT / "docs" / name
            with opened(browser, path, width, scheme) as view:  # type: ignore[arg-type]
                clip = {"x": 0, "y": 0, "width": width, "height": height}
                view.page.screenshot(path=target, clip=clip, full_page=True)  # type: ignore[arg-type]
            size = target.stat().st_size
            if size > MOST_BYTES:
                raise ValueError(f"{name} must have at most {MOST_BYTES:,} bytes, got {size:,}")
            print(f"{size:>8,}  docs/{name}")


if __name__ == "__main__":
    main()
