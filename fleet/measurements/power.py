# SPDX-License-Identifier: Apache-2.0
"""Write the delays of detection that the dashboard states, from the committed results.

`--check` only compares: it fails if the dashboard's file differs from the results.
"""

import argparse
import json
import re
import sys
from typing import Any

from results.result import RESULTS, ROOT

TARGET = ROOT / "fleet/src/tcuq_fleet/serve/power.json"
HOURS = re.compile(r"after ([\d, and]+) h, %$")


def power() -> str:
    """Return the file's text."""
    document = json.loads((RESULTS / "fleet_late_drift.json").read_text("utf-8"))
    delays: dict[int, dict[str, Any]] = {}
    for row in document["rows"]:
        steps = re.search(r"(\d+) steps/h: (.*)", row["what"])
        if steps is None:
            continue
        case = delays.setdefault(int(steps[1]), {"steps_per_hour": int(steps[1])})
        if steps[2].startswith("hours until half are found"):
            case["median_hours"] = int(row["measured"].split()[0])
        after = HOURS.search(steps[2])
        if after is not None:
            hours = re.findall(r"\d+", after[1])
            case["found_percent"] = dict(zip(hours, map(int, row["measured"].split()), strict=True))
    content = {"command": document["command"], "delays": [delays[rate] for rate in sorted(delays)]}
    return json.dumps(content, indent=1) + "\n"


def main() -> None:
    """Write or check the file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    text = power()
    if parser.parse_args().check:
        same = TARGET.read_text("utf-8") == text
        sys.exit(None if same else f"{TARGET.relative_to(ROOT)} differs from the results")
    TARGET.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
