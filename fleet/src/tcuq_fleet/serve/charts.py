# SPDX-License-Identifier: Apache-2.0
"""Charts of the dashboard: a group by hour, the fleet by judgement, a device by epoch."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from tcuq.charts import Axis, Chart, Frame, ceiling
from tcuq_fleet.serve.accuracy_queries import AccuracyHour
from tcuq_fleet.serve.device import BINS, UNITS_PER_BIT, Epoch
from tcuq_fleet.serve.queries import FirmwareHour, Hour, JudgementRow
from tcuq_fleet.serve.wording import percent, short, signed
from tcuq_fleet.wire import firmware_name

Legend = list[tuple[str, str]]  # class and text

FRAME = Frame(340, 190, left=42, right=8, top=10, bottom=40)
HOUR_S = 3600.0
MIN_OPACITY = 0.03
MAX_DATES = 5  # on an axis of epochs
MAX_VERSIONS = 5  # of firmware in a chart, those with the most records


def records(hours: Sequence[Hour], count: int, now: datetime) -> Chart:
    """Draw the records stored per hour."""
    return _hour_bars(
        "Records stored, by the hour", hours, count, now, value=lambda h: h.records,
        text=lambda h: f"{h.records:,} records, {short(h.steps)} steps",
    )  # fmt: skip


def device_alarms(hours: Sequence[Hour], count: int, now: datetime) -> Chart:
    """Draw the alarms that devices themselves counted, per hour."""
    return _hour_bars(
        "Alarms that devices counted, by the hour", hours, count, now, value=lambda h: h.alarms,
        text=lambda h: f"{h.alarms:,} alarms on devices",
    )  # fmt: skip


def shares(hours: Sequence[Hour], count: int, now: datetime) -> Chart:
    """Draw the shares of steps abstained and denied, per hour."""
    rows = [hour for hour in hours if hour.steps]
    highest = max((max(h.abstained, h.denied) / h.steps for h in rows), default=0.0)
    title = "Share of steps abstained and denied, by the hour"
    chart = Chart(title, _hour_axis(count, now), _share_axis(highest), FRAME)
    middles = [h.hour.timestamp() + HOUR_S / 2 for h in rows]
    chart.line(middles, [h.abstained / h.steps for h in rows], "abstained")
    chart.line(middles, [h.denied / h.steps for h in rows], "denied")
    for h in rows:
        text = f"{percent(h.abstained, h.steps)} abstained, {percent(h.denied, h.steps)} denied"
        _hour_tooltip(chart, h, text)
    return chart


def discoveries(judgements: Sequence[JudgementRow]) -> Chart:
    """Draw the devices that each judgement discovered at its level."""
    rows = sorted(judgements, key=lambda j: j.judged)
    times = [row.judged.timestamp() for row in rows]
    margin = 0.02 * max(times[-1] - times[0], HOUR_S)
    chart = Chart(
        f"Devices discovered by the last {len(rows)} judgements, now {rows[-1].discovered:,}",
        Axis.time(times[0] - margin, times[-1] + margin),
        _count_axis(max(row.discovered for row in rows), 10),
        FRAME,
    )
    chart.line(times, [row.discovered for row in rows], "drifting")
    chart.point(times[-1], rows[-1].discovered, "drifting")
    edges = [chart.x.low, *((a + b) / 2 for a, b in pairwise(times)), chart.x.high]
    for row, (left, right) in zip(rows, pairwise(edges), strict=True):
        text = f"{row.discovered:,} of {row.judgeable:,} discovered at level {row.level:g}"
        chart.tooltip(left, right, f"{_when(row.judged)}: {text}")
    return chart


def evidence(epochs: Sequence[Epoch], cutoff_q8: int | None, level: float | None) -> Chart:
    """Draw a device's evidence per epoch, and the evidence that discovery requires."""
    bits = [e.evidence_bits for e in epochs]
    levels = [*bits, 0.0] if cutoff_q8 is None else [*bits, 0.0, cutoff_q8 / UNITS_PER_BIT]
    low, high = min(levels), max(levels)
    margin = max(0.08 * (high - low), 1.0)
    y = Axis.linear(low - margin, high + margin, text=lambda v: signed(v).removesuffix(".0"))
    chart = _epoch_chart("Evidence of drift by epoch, in bits", epochs, y)
    closed = [i for i, epoch in enumerate(epochs) if epoch.closed]
    chart.line([i + 0.5 for i in closed], [bits[i] for i in closed], "evidence")
    for i, (epoch, value) in enumerate(zip(epochs, bits, strict=True)):
        enough = cutoff_q8 is not None and value * UNITS_PER_BIT >= cutoff_q8
        kind = "discovered" if enough else ""
        chart.point(i + 0.5, value, kind if epoch.closed else "current")
        so_far = "" if epoch.closed else " so far"
        chart.tooltip(i, i + 1, f"{_epoch(epoch)}: {signed(value)} bits{so_far}")
    if cutoff_q8 is not None and level is not None:
        chart.horizontal(cutoff_q8 / UNITS_PER_BIT, f"discovered at level {level:g}")
    return chart


def decisions(epochs: Sequence[Epoch]) -> Chart:
    """Draw a device's shares of steps abstained and denied, per epoch."""
    highest = max(((e.abstained + e.denied) / e.steps for e in epochs if e.steps), default=0.0)
    title = "Share of steps abstained and denied by epoch"
    chart = _epoch_chart(title, epochs, _share_axis(highest))
    for i, epoch in enumerate(epochs):
        if not epoch.steps:
            continue
        lower = epoch.abstained / epoch.steps
        upper = lower + epoch.denied / epoch.steps
        chart.bar(i, i + 1, upper, "denied")
        chart.bar(i, i + 1, lower, "abstained")
        text = (
            f"{epoch.steps:,} steps, {percent(epoch.abstained, epoch.steps)} abstained,"
            f" {percent(epoch.denied, epoch.steps)} denied, {epoch.alarms:,} alarms"
        )
        chart.tooltip(i, i + 1, f"{_epoch(epoch)}: {text}")
    return chart


def risk(epochs: Sequence[Epoch]) -> Chart:
    """Draw the risk histogram of each epoch as a column, whose opacity is the share of steps."""
    title = "Risk of steps by epoch, as shares of sixteen bins"
    chart = _epoch_chart(title, epochs, Axis.linear(0, 1))
    for i, epoch in enumerate(epochs):
        total = sum(epoch.risk_histogram)
        for number, count in enumerate(epoch.risk_histogram):
            opacity = round((count / total) ** 0.5, 2) if total else 0.0
            if opacity >= MIN_OPACITY:
                chart.cell(i, i + 1, number / BINS, (number + 1) / BINS, opacity)
        high = sum(epoch.risk_histogram[BINS // 2 :])
        text = f"{percent(high, total)} of steps at a risk of 0.5 and more"
        chart.tooltip(i, i + 1, f"{_epoch(epoch)}: {text}")
    return chart


def adoption(rows: Sequence[FirmwareHour], count: int, now: datetime) -> tuple[Chart, Legend]:
    """Draw each firmware version's share of the records by the hour, and return its legend."""
    totals = Counter[int]()
    by_hour: dict[datetime, Counter[int]] = {}
    for row in rows:
        totals[row.firmware] += row.records
        by_hour.setdefault(row.hour, Counter())[row.firmware] += row.records
    shown = [firmware for firmware, _ in totals.most_common(MAX_VERSIONS)]
    title = "Share of records by version, by the hour"
    chart = Chart(title, _hour_axis(count, now), _share_axis(1.0), FRAME)
    middles = [hour.timestamp() + HOUR_S / 2 for hour in by_hour]
    shares = [
        {version: counts[version] / max(counts.total(), 1) for version in shown}
        for counts in by_hour.values()
    ]
    for i, version in enumerate(shown):
        chart.line(middles, [share[version] for share in shares], f"series{i}")
    for hour, share in zip(by_hour, shares, strict=True):
        text = ", ".join(f"{firmware_name(v)} {percent(s, 1)}" for v, s in share.items() if s)
        begin = hour.timestamp()
        chart.tooltip(begin, begin + HOUR_S, f"{_when(hour)}: {text}")
    return chart, [(f"series{i}", firmware_name(v)) for i, v in enumerate(shown)]


def accuracy(rows: Sequence[AccuracyHour], count: int, now: datetime) -> tuple[Chart, Legend]:
    """Draw the estimated accuracy of firmware versions by the hour, and return its legend."""
    totals = Counter[str]()
    for row in rows:
        totals[row.firmware] += row.devices
    shown = [firmware for firmware, _ in totals.most_common(MAX_VERSIONS)]
    lowest = min((row.estimated_accuracy for row in rows if row.firmware in shown), default=0.9)
    y = Axis.linear(max(0.0, lowest - 0.02), 1, count=3, text=lambda v: f"{100 * v:.3g} %")
    chart = Chart("Estimated accuracy by version, by the hour", _hour_axis(count, now), y, FRAME)
    for i, version in enumerate(shown):
        own = [row for row in rows if row.firmware == version]
        middles = [row.hour.timestamp() + HOUR_S / 2 for row in own]
        chart.line(middles, [row.estimated_accuracy for row in own], f"series{i}")
    for hour in sorted({row.hour for row in rows}):
        text = ", ".join(
            f"{row.firmware} {percent(row.estimated_accuracy, 1)}"
            for row in rows
            if row.hour == hour and row.firmware in shown
        )
        begin = hour.timestamp()
        chart.tooltip(begin, begin + HOUR_S, f"{_when(hour)}: {text}")
    return chart, [(f"series{i}", version) for i, version in enumerate(shown)]


def accuracy_by_epoch(epochs: Sequence[Epoch]) -> Chart:
    """Draw a device's estimated accuracy per closed epoch."""
    known = [
        (i, epoch.estimated_accuracy)
        for i, epoch in enumerate(epochs)
        if epoch.estimated_accuracy is not None
    ]
    lowest = min((value for _, value in known), default=0.9)
    y = Axis.linear(max(0.0, lowest - 0.02), 1, count=3, text=lambda v: f"{100 * v:.3g} %")
    chart = _epoch_chart("Estimated accuracy by epoch", epochs, y)
    chart.line([i + 0.5 for i, _ in known], [value for _, value in known], "evidence")
    for i, value in known:
        chart.point(i + 0.5, value, "")
        chart.tooltip(i, i + 1, f"{_epoch(epochs[i])}: {percent(value, 1)}")
    return chart


def _hour_bars(
    title: str,
    hours: Sequence[Hour],
    count: int,
    now: datetime,
    *,
    value: Callable[[Hour], int],
    text: Callable[[Hour], str],
) -> Chart:
    y = _count_axis(max((value(hour) for hour in hours), default=0), 4)
    chart = Chart(title, _hour_axis(count, now), y, FRAME)
    for hour in hours:
        begin = hour.hour.timestamp()
        current = hour.hour + timedelta(hours=1) > now
        chart.bar(begin, begin + HOUR_S, value(hour), "current" if current else "")
        _hour_tooltip(chart, hour, f"{text(hour)}{' so far' if current else ''}")
    return chart


def _hour_tooltip(chart: Chart, hour: Hour, text: str) -> None:
    begin = hour.hour.timestamp()
    chart.tooltip(begin, begin + HOUR_S, f"{_when(hour.hour)}: {text}")


def _hour_axis(count: int, now: datetime) -> Axis:
    end = (now.timestamp() // HOUR_S + 1) * HOUR_S
    return Axis.time(end - count * HOUR_S, end)


def _count_axis(highest: int, least: int) -> Axis:
    return Axis.linear(0, ceiling(highest, least), count=3, text=short)


def _share_axis(highest: float) -> Axis:
    return Axis.linear(0, ceiling(highest, 0.001), count=3, text=lambda v: f"{100 * v:.3g} %")


def _epoch_chart(title: str, epochs: Sequence[Epoch], y: Axis) -> Chart:
    every = max(1, -(-len(epochs) // MAX_DATES))
    days = len({epoch.stored.date() for epoch in epochs}) > len(epochs) // 2
    ticks = [
        (i + 0.5, f"{epochs[i].stored.astimezone(UTC):{'%-d %b' if days else '%H:%M'}}")
        for i in range(0, len(epochs), every)
    ]
    numbers = [epoch.epoch for epoch in epochs]  # a device without a snapshot counts from 0 again
    label = f"epochs {min(numbers)} to {max(numbers)}, by time stored, UTC"
    chart = Chart(title, Axis(0, len(epochs), label, ticks), y, FRAME)
    for i, epoch in enumerate(epochs):
        if epoch.rebooted:
            chart.vertical(i, kind="boot")
    return chart


def _epoch(epoch: Epoch) -> str:
    return f"Epoch {epoch.epoch}, {_when(epoch.stored)}"


def _when(when: datetime) -> str:
    return f"{when.astimezone(UTC):%-d %b %H:%M}"
