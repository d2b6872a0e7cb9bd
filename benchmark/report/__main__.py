# SPDX-License-Identifier: Apache-2.0
"""Render the benchmark's pages: `python -m benchmark.report`; with `--check`, compare them."""

import argparse
import sys
from pathlib import Path

from benchmark.report.claims_page import claims_page
from benchmark.report.results_page import results_page

DOCS = Path(__file__).resolve().parents[2] / "docs" / "benchmark"


def main() -> None:
    """Write the pages, or say which are out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for name, text in (results_page() | claims_page()).items():
        path = DOCS / name
        if check and (not path.is_file() or path.read_text("utf-8") != text):
            stale.append(name)
        elif not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    for name in stale:
        print(f"docs/benchmark/{name} is out of date: run  python -m benchmark.report")
    sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main()
