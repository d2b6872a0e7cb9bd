# SPDX-License-Identifier: Apache-2.0
"""The confirmation's two promises, of the accepted error and of false alarms, as table rows."""

import json
import re
from collections.abc import Iterator

from scipy.stats import chi2

from results.result import RESULTS

LIMIT = re.compile(r"upper 95 % limit ([\d.]+) %")
BROKEN = "promises broken by held-out data"
COUNTS = "false alarms at h ="


def promise_rows() -> Iterator[list[str]]:
    """Yield claims 5 and 6 of the protocol with their verdicts, where they were run."""
    if (RESULTS / "accepted_confirm.json").is_file():
        yield _accepted_error()
    if (RESULTS / "alarm_confirm_tinyimagenet.json").is_file():
        yield _false_alarms()


def _accepted_error() -> list[str]:
    """Return claim 5: confirmed if its upper limit is at most the largest of the other sets'."""
    ((measured, _),) = _measured("accepted_confirm", BROKEN)
    largest = max(
        _limit(text) for text, must in _measured("accepted_error", BROKEN) if must[0] == "≤"
    )
    word = "confirmed" if _limit(measured) <= largest else "not confirmed"
    text = f"{measured}; largest upper limit of the other sets {largest:g} %"
    return ["5", "the accepted error of 25 % is kept", text, f"**{word}**"]


def _false_alarms() -> list[str]:
    """Return claim 6: confirmed if no Poisson interval lies above the number allowed."""
    (row,) = _measured("alarm_confirm_tinyimagenet", f"tinyimagenet: {COUNTS}")
    counts = [int(part) for part in row[0].split(" / ")]
    allowed = [float(part) for part in row[1].removesuffix(" allowed").split(" / ")]
    lowest = [float(chi2.ppf(0.025, 2 * count)) / 2 if count else 0.0 for count in counts]
    holds = all(low <= most for low, most in zip(lowest, allowed, strict=True))
    text = f"{row[0]} false alarms at one in 2^14 / 2^17 / 2^20 steps, {row[1]}"
    return ["6", "false alarms are rare", text, "**confirmed**" if holds else "**refuted**"]


def _measured(name: str, what: str) -> list[tuple[str, str]]:
    document = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    return [(row["measured"], row["must"]) for row in document["rows"] if what in row["what"]]


def _limit(text: str) -> float:
    match = LIMIT.search(text)
    assert match is not None  # noqa: S101 - every such row has one
    return float(match[1])
