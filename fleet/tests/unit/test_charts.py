# SPDX-License-Identifier: Apache-2.0
"""The dashboard's charts, from made-up rows."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import resources

import pytest

from tcuq.charts import Chart, stylesheet
from tcuq_fleet.serve import charts
from tcuq_fleet.serve.device import BINS, Epoch
from tcuq_fleet.serve.queries import Hour, JudgementRow
from tcuq_fleet.serve.view import HOURS

NOW = datetime(2025, 6, 3, 14, 25, tzinfo=UTC)


def hours(count: int) -> list[Hour]:
    """As many hours up to the present one, one of them without steps."""
    first = NOW.replace(minute=0) - timedelta(hours=count - 1)
    return [
        Hour(first + timedelta(hours=i), 100 + i, 0 if i == 1 else 3600, 90, 9, i)
        for i in range(count)
    ]


def judgements(count: int, minutes: int) -> list[JudgementRow]:
    """The newest first, so many minutes apart."""
    return [
        JudgementRow(
            i,
            NOW - timedelta(minutes=minutes * i),
            0.05,
            2000,
            1,
            1900,
            10 * i,
            0,
            all_groups=True,
            compared=0,
            changed=0,
        )
        for i in range(count)
    ]


def epochs(count: int) -> list[Epoch]:
    """The second after a reboot, the last not yet whole."""
    return [
        Epoch(
            epoch=i, boot=1, stored=NOW, closed=i < count - 1, rebooted=i == 1, evidence_bits=i,
            steps=3600, abstained=360, denied=36, alarms=2, risk_histogram=list(range(BINS)),
            estimated_accuracy=0.9,
        )
        for i in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("count", HOURS)
@pytest.mark.parametrize("make", [charts.records, charts.shares, charts.device_alarms])
def test_charts_of_hours_have_a_labelled_time_axis(
    make: Callable[[list[Hour], int, datetime], Chart], count: int
) -> None:
    """At least three times or dates, and a tooltip for every hour that has something to say."""
    chart = make(hours(count), count, NOW)
    assert chart.x.label == "time, UTC"
    assert len(chart.x.ticks) >= 3
    assert len(chart.tooltips) == (count - 1 if make is charts.shares else count)


@pytest.mark.parametrize("minutes", [1, 5, 60, 1440])
def test_judgements_have_a_labelled_time_axis_however_close(minutes: int) -> None:
    """Thirty judgements within half an hour or a month."""
    assert len(charts.discoveries(judgements(30, minutes)).x.ticks) >= 3
    assert charts.discoveries(judgements(1, minutes)).x.ticks


def test_the_present_hour_and_epoch_are_told_apart() -> None:
    """They are drawn in another colour, and the tooltip says `so far`."""
    bars = charts.records(hours(24), 24, NOW)
    assert [bar.get("class") for bar in bars.areas[-2:]] == ["column", "column current"]
    assert bars.tooltips[-1].get("data-label", "").endswith("so far")
    evidence = charts.evidence(epochs(4), 512, 0.05)
    points = [mark.get("class") for mark in evidence.marks if mark.tag == "circle"]
    assert points == ["point", "point", "point discovered", "point current"]


def test_charts_of_epochs_mark_reboots_and_limits() -> None:
    """A dotted line at a new boot, a dashed one at what is needed."""
    for chart in (
        charts.evidence(epochs(9), 512, 0.05),
        charts.risk(epochs(9)),
        charts.decisions(epochs(9)),
    ):
        assert [m.get("x1") for m in chart.marks if m.get("class") == "boot"] == [
            str(chart.x_of(1))
        ]
        assert chart.x.label == "epochs 0 to 8, by time stored, UTC"
        assert len(chart.tooltips) == 9
    assert len(charts.risk(epochs(1)).areas) == BINS - 1


def test_epochs_that_count_from_zero_again_are_named_from_least_to_most() -> None:
    """A device that lost its flash: epochs 5 to 8, then 0."""
    after = [*epochs(9)[5:], epochs(1)[0]]
    assert charts.risk(after).x.label == "epochs 0 to 8, by time stored, UTC"


def test_the_page_uses_only_colours_that_exist() -> None:
    """Every colour variable of the style sheet is defined in it or in the charts'."""
    text = resources.files("tcuq_fleet.serve").joinpath("static/fleet.css").read_text("utf-8")
    defined = set(re.findall(r"--(\w+):", stylesheet() + text))
    assert set(re.findall(r"var\(--(\w+)", text)) <= defined
