# SPDX-License-Identifier: Apache-2.0
"""What a firmware engineer writes: lines of the documented programs, which tests compile and run.

Everything but blank lines and comments counts, also what stands in for flash and network.
"""

from collections.abc import Iterator

from results.result import Row, measure
from tests.fixtures.pages import blocks, minimal_program

MOST_LINES = {"uplink": 60, "ota": 60}
MOST_MINIMAL = 12


def documented(page: str) -> int:
    """Count the lines of the first C program of a how-to page."""
    (program, *_) = blocks(f"docs/howto/{page}.md", "c")
    lines = (line.strip() for line in program.splitlines())
    return sum(bool(line) and not line.startswith("/*") for line in lines)


def rows(_short: bool) -> Iterator[Row]:
    """Yield the lines for the monitor, the uplink and updates."""
    minimal = len(minimal_program())
    what = "lines of C for the monitor: the header's program"
    yield Row(what, f"≤ {MOST_MINIMAL}", f"{minimal}", 0 < minimal <= MOST_MINIMAL)
    for page, most in MOST_LINES.items():
        lines = documented(page)
        what = f"lines of C, complete with storage: docs/howto/{page}.md"
        yield Row(what, f"≤ {most}", f"{lines}", 0 < lines <= most)


if __name__ == "__main__":
    measure("integration", rows)
