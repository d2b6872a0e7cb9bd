# SPDX-License-Identifier: Apache-2.0
"""The dashboard's charts: hours of a group, judgements of the fleet, epochs of a device."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from tcuq.fleet.serve.device import BINS, Epoch
from tcuq.fleet.serve.drawing import TOP, Box, Chart, roof, ticks
from tcuq.fleet.serve.queries import Hour, Judgement
from tcuq.fleet.serve.sentences import BITS, percent, short, signed

HOUR_S = 3600.0
FAINTEST = 0.03


def records(hours: Sequence[Hour], count: int, now: datetime) -> Chart:
    """Records an hour."""
    return _of_hours(
        _frame("Records stored, by the hour", count, now), hours, now, lambda h: h.records,
        lambda h: f"{h.records:,} records, {short(h.steps)} steps",
    )  # fmt: skip


def device_alarms(hours: Sequence[Hour], count: int, now: datetime) -> Chart:
    """What devices' own alarms counted."""
    return _of_hours(
        _frame("Alarms that devices counted, by the hour", count, now), hours, now,
        lambda h: h.alarms,
        lambda h: f"{h.alarms:,} alarms on devices",
    )  # fmt: skip


def shares(hours: Sequence[Hour], count: int, now: datetime) -> Chart:
    """Abstained and denied, of all steps."""
    rows = [hour for hour in hours if hour.steps]
    highest = max((max(h.abstained, h.denied) / h.steps for h in rows), default=0.0)
    chart = _frame("Share of steps abstained and denied, by the hour", count, now)
    chart.y = (0, roof(highest, 0.001))
    chart.y_ticks = [(v, f"{100 * v:.3g} %") for v in ticks(*chart.y, 3)]
    for name in ("abstained", "denied"):
        points = [(_at(h.hour) + 0.5, getattr(h, name) / h.steps) for h in rows]
        chart.line(points, name)
    for h in rows:
        at = _at(h.hour)
        said = f"{percent(h.abstained, h.steps)} abstained, {percent(h.denied, h.steps)} denied"
        chart.hit(at, at + 1, f"{_when(h.hour)}: {said}")
    return chart


def discoveries(judgements: Sequence[Judgement]) -> Chart:
    """Devices that each judgement discovered, at the level it was judged at."""
    rows = sorted(judgements, key=lambda j: j.judged)
    times = [_at(row.judged) for row in rows]
    span = max(times[-1] - times[0], 1.0)
    highest = max(row.discovered for row in rows)
    chart = Chart(
        f"Devices discovered by the last {len(rows)} judgements, now {rows[-1].discovered:,}",
        (times[0] - 0.02 * span, times[-1] + 0.02 * span),
        (0, roof(highest, 10)),
    )
    chart.x_ticks = _days(times[0], times[-1], 4)
    chart.y_ticks = [(v, short(v)) for v in ticks(*chart.y, 3)]
    chart.line([(at, row.discovered) for at, row in zip(times, rows, strict=True)], "drifting")
    chart.dot(times[-1], rows[-1].discovered, "drifting")
    edges = [chart.x[0], *((a + b) / 2 for a, b in pairwise(times)), chart.x[1]]
    for row, (left, right) in zip(rows, pairwise(edges), strict=True):
        said = f"{row.discovered:,} of {row.judgeable:,} discovered at level {row.level:g}"
        chart.hit(left, right, f"{_when(row.judged)}: {said}")
    return chart


def evidence(epochs: Sequence[Epoch], cutoff_q8: int | None, level: float | None) -> Chart:
    """A device's evidence by epoch, and how much the fleet asks for."""
    bits = [e.evidence_q8 / BITS for e in epochs]
    known = [*bits, 0.0] if cutoff_q8 is None else [*bits, 0.0, cutoff_q8 / BITS]
    low, high = min(known), max(known)
    room = max(0.08 * (high - low), 1.0)
    chart = _of_epochs("Evidence of drift by epoch, in bits", epochs)
    chart.y = (low - room, high + room)
    chart.y_ticks = [(v, signed(v).removesuffix(".0")) for v in ticks(*chart.y, 4)]
    chart.line([(i + 0.5, b) for i, b in enumerate(bits) if epochs[i].whole], "evidence")
    for i, (epoch, value) in enumerate(zip(epochs, bits, strict=True)):
        found = cutoff_q8 is not None and epoch.evidence_q8 >= cutoff_q8
        if epoch.whole:
            chart.dot(i + 0.5, value, "found" if found else "evidence")
        else:
            chart.dot(i + 0.5, value, "present")
        so_far = "" if epoch.whole else " so far"
        chart.hit(i, i + 1, f"Epoch {epoch.epoch}: {signed(value)} bits{so_far}")
    if cutoff_q8 is not None and level is not None:
        chart.mark(cutoff_q8 / BITS, f"discovered at level {level:g}")
    return chart


def decisions(epochs: Sequence[Epoch]) -> Chart:
    """A device's abstentions and denials by epoch."""
    highest = max(((e.abstained + e.denied) / e.steps for e in epochs if e.steps), default=0.0)
    chart = _of_epochs("Share of steps abstained and denied by epoch", epochs)
    chart.y = (0, roof(highest, 0.001))
    chart.y_ticks = [(v, f"{100 * v:.3g} %") for v in ticks(*chart.y, 3)]
    for i, epoch in enumerate(epochs):
        if not epoch.steps:
            continue
        lower = epoch.abstained / epoch.steps
        upper = lower + epoch.denied / epoch.steps
        chart.column(i, i + 1, upper, "denied")
        chart.column(i, i + 1, lower, "abstained")
        said = (
            f"{epoch.steps:,} steps, {percent(epoch.abstained, epoch.steps)} abstained,"
            f" {percent(epoch.denied, epoch.steps)} denied, {epoch.alarms:,} alarms"
        )
        chart.hit(i, i + 1, f"Epoch {epoch.epoch}: {said}")
    return chart


def risk(epochs: Sequence[Epoch], threshold: int) -> Chart:
    """How risk was spread in each epoch: a column an epoch, the stronger the more of its steps."""
    chart = _of_epochs("Risk of steps by epoch, as shares of sixteen bins", epochs)
    chart.y = (0, 1)
    chart.y_ticks = [(v, f"{v:g}") for v in (0, 0.25, 0.5, 0.75, 1)]
    tall = (chart.base - TOP) / BINS
    for i, epoch in enumerate(epochs):
        total = int(epoch.histogram.sum())
        left, right = chart.across(i), chart.across(i + 1)
        for number, count in enumerate(epoch.histogram.tolist()):
            strength = round((count / total) ** 0.5, 2) if total else 0.0
            if strength >= FAINTEST:
                top = chart.base - (number + 1) * tall
                chart.boxes.append(
                    Box(left, round(top, 1), round(right - left + 0.2, 1), round(tall + 0.2, 1),
                        "risk", strength=strength)
                )  # fmt: skip
        high = int(epoch.histogram[BINS // 2 :].sum())
        said = f"{percent(high, total)} of steps at a risk of 0.5 and more"
        chart.hit(i, i + 1, f"Epoch {epoch.epoch}: {said}")
    if threshold:
        chart.mark(threshold / 16384, "threshold now")
    return chart


def _of_hours(
    chart: Chart,
    hours: Sequence[Hour],
    now: datetime,
    value: Callable[[Hour], int],
    text: Callable[[Hour], str],
) -> Chart:
    chart.y = (0, roof(max((value(hour) for hour in hours), default=0), 4))
    chart.y_ticks = [(v, short(v)) for v in ticks(*chart.y, 3)]
    for hour in hours:
        at = _at(hour.hour)
        present = hour.hour + timedelta(hours=1) > now
        chart.column(at, at + 1, value(hour), "present" if present else "past")
        so_far = " so far" if present else ""
        chart.hit(at, at + 1, f"{_when(hour.hour)}: {text(hour)}{so_far}")
    return chart


def _frame(say: str, count: int, now: datetime) -> Chart:
    end = _at(now) // 1 + 1
    begin = end - count
    if count > 24:
        return Chart(say, (begin, end), (0, 1), _days(begin, end, 7))
    marks = [h for h in range(int(begin), int(end) + 1) if h % 6 == 0]
    return Chart(say, (begin, end), (0, 1), [(h, f"{h % 24:02d}:00") for h in marks])


def _of_epochs(say: str, epochs: Sequence[Epoch]) -> Chart:
    chart = Chart(say, (0, len(epochs)), (0, 1))
    every = max(1, -(-len(epochs) // 8))
    chart.x_ticks = [(i + 0.5, str(epochs[i].epoch)) for i in range(0, len(epochs), every)]
    for i, epoch in enumerate(epochs):
        if epoch.rebooted:
            chart.upright(i)
    return chart


def _days(begin: float, end: float, most: int) -> list[tuple[float, str]]:
    midnights = range(int(-(-begin // 24)), int(end // 24) + 1)
    every = max(1, -(-len(midnights) // most))
    return [(24.0 * d, f"{_time(24 * d):%-d %b}") for d in midnights[::every]]


def _at(when: datetime) -> float:
    return when.timestamp() / HOUR_S


def _time(at: float) -> datetime:
    return datetime.fromtimestamp(at * HOUR_S, UTC)


def _when(when: datetime) -> str:
    return f"{when.astimezone(UTC):%-d %b %H:%M}"
