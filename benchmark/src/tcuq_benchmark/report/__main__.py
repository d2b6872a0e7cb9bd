# SPDX-License-Identifier: Apache-2.0
"""Write the benchmark's pages: `python -m tcuq_benchmark.report`; with `--check`, compare them."""

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from tcuq_benchmark.report.claims_page import claims_page
from tcuq_benchmark.report.confirmation_page import confirmation_page
from tcuq_benchmark.report.results_page import results_page
from tcuq_benchmark.report.scorecard import document

ROOT = Path(__file__).resolve().parents[4]
DOCS = ROOT / "benchmark/docs"
SCORECARD = ROOT / "results" / "benchmark.json"


def main() -> None:
    """Write the pages, or print which are out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    pages = results_page() | claims_page() | confirmation_page()
    files = {DOCS / name: text for name, text in pages.items()}
    files[SCORECARD] = document(_date(check=check))
    for path, text in files.items():
        if check and (not path.is_file() or path.read_text("utf-8") != text):
            stale.append(path.relative_to(ROOT))
        elif not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    for name in stale:
        print(f"{name} is out of date: run  python -m tcuq_benchmark.report")
    sys.exit(1 if stale else 0)


def _date(*, check: bool) -> str:
    """Return today's date, or with `check` the date of the committed rows."""
    if check and SCORECARD.is_file():
        return str(json.loads(SCORECARD.read_text("utf-8"))["date"])
    return datetime.now(UTC).date().isoformat()


if __name__ == "__main__":
    main()
