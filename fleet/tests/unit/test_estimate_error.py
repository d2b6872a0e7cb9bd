# SPDX-License-Identifier: Apache-2.0
"""The error that the pages state beside an estimated accuracy is the measured one."""

import json
from pathlib import Path

from tcuq_fleet.serve.wording import ESTIMATE_ERROR_POINTS

FAILURES = Path(__file__).parents[3] / "results/failures.json"


def test_the_stated_error_of_the_estimate_is_the_measured_one() -> None:
    """The constant is the figure of results/failures.json."""
    rows = json.loads(FAILURES.read_text("utf-8"))["rows"]
    what = "estimated accuracy under faults, tcuq: mean error, both kinds"
    (measured,) = (row["measured"] for row in rows if row["what"] == what)
    assert float(measured.split()[0]) == ESTIMATE_ERROR_POINTS
