# SPDX-License-Identifier: Apache-2.0
"""The results page's section on the alarm: false alarms by split, delays beside other detectors."""

from tcuq_benchmark.experiments.result import ExperimentRow
from tcuq_benchmark.report.results import TASKS, TITLES, command, folded, rows, text


def alarm_section() -> list[str]:
    """Return the text, the promise by split, and the delays by detector."""
    tasks = [task for task in TASKS if rows("alarm", task)]
    promises = [
        [TITLES[task], row["split"], str(row["h"]), f"{row['steps']:,}", f"{row['allowed']:.1f}",
         str(row["false alarms"]), str(max(row["by calibration"]))]
        for task in tasks
        for row in rows("alarm", task)
        if row["what"] == "promise"
    ]  # fmt: skip
    delays = [
        [
            TITLES[task], row["detector"], row["signal"], row["limits"],
            f"{row['per million']:,.0f}", *_delay(row.get("severity 4") or row["drift"]),
        ]
        for task in tasks
        for row in rows("alarm", task)
        if row["what"] == "delays"
    ]  # fmt: skip
    return [
        command("alarm"),
        text("alarm"),
        folded(
            "False alarms by split",
            ["set", "split", "h", "steps", "allowed", "false alarms", "most"],
            promises,
        ),
        folded(
            "Delays by detector",
            ["set", "detector", "signal", "limits", "false alarms per million", "delay", "missed"],
            delays,
        ),
    ]


def _delay(row: ExperimentRow) -> list[str]:
    median = row.get("median delay")
    return ["–" if median is None else f"{median:,.0f}", f"{row['missed']} of {row['onsets']}"]
