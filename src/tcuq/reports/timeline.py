# SPDX-License-Identifier: Apache-2.0
"""The timeline: its section, and its data in columns of small integers, deflated, in base64.

A cell is one step as long as the page has room; of a longer stream it is several, with the
lowest, mean and highest risk, the lowest threshold and accuracy, and a flag if any step has it.
"""

import base64
import zlib
from collections.abc import Iterator, Sequence
from enum import IntFlag
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from tcuq.charts import legend
from tcuq.charts.markup import element
from tcuq.decision import steps_by_cause
from tcuq.profile.settings import RISK_LEVELS
from tcuq.reports.tables import span_button
from tcuq.reports.view import View
from tcuq.stages.budget import Outcome

MAX_ALARMS = 8  # listed below a canvas

BUTTONS = (
    ("in", "+", "Zoom in"),
    ("out", "−", "Zoom out"),
    ("left", "◀", "Earlier"),
    ("right", "▶", "Later"),
    ("all", "All", "All steps"),
)
HELP = (
    "Drag to select a span; pinch, or hold Ctrl and scroll, to zoom."
    " With the keyboard: plus, minus, arrows, Home."
)
LINES = {
    "stream": "risk, mean",
    "band": "risk, lowest to highest",
    "threshold": "threshold",
    "recording": "start of a recording",
}
LABELLED_LINES = {
    "accuracy": "accuracy of the last {} steps",
    "dashed": "its floor: 3 standard deviations below its mean without shifts",
}
PAGE_BYTES = 1_300_000  # of all timelines before base64, which adds a third
STEP_BYTES, CELL_BYTES = 6, 10
MAX_CAUSES = 2000  # alarms whose cause the timeline names
UNKNOWN_ACCURACY = 255
FULL_ACCURACY = 250


def timeline_section(views: Sequence[View]) -> Iterator[Element]:
    """The section's content; every canvas shows the same span of the stream."""
    buttons = [
        element("button", text, type="button", data_act=act, aria_label=name, title=name)
        for act, text, name in BUTTONS
    ]
    panels = [
        element(
            "figure",
            element("figcaption", view.name) if len(views) > 1 else None,
            element("canvas", role="img", aria_label=_description(view), class_="panel"),
            element("ul", *_alarms(view), class_="chips"),
        )
        for view in views
    ]
    overview = "The whole stream, and the span shown"
    yield element("noscript", element("p", "The timeline is drawn by a script in this page."))
    yield element("div", *buttons, element("span", id="span"), class_="controls")
    yield element(
        "div",
        *panels,
        element("canvas", role="img", aria_label=overview, id="map"),
        tabindex=0,
        role="group",
        aria_label="Timeline. Plus and minus zoom, arrows move, Home shows all.",
        id="stage",
    )
    yield element("p", element("output", HELP, id="readout"))
    lines = LINES | (LABELLED_LINES if views[0].known.any() else {})
    yield legend([(kind, text.format(views[0].window)) for kind, text in lines.items()])


def _description(view: View) -> str:
    outcome = view.trace.outcome
    return (
        f"Risk, threshold, decisions and alarms of {view.name} over {len(outcome):,} steps:"
        f" {int((outcome == Outcome.ABSTAIN).sum()):,} abstained,"
        f" {int((outcome == Outcome.DENIED).sum()):,} denied,"
        f" {int((view.trace.alarm > 0).sum()):,} alarms"
    )


def _alarms(view: View) -> Iterator[Element]:
    causes, meanings = list(view.trace.alarms.items()), view.trace.meanings
    if not causes:
        why = "No alarm." if view.profile.alarm is not None else "This profile has no alarm."
        yield element("li", why)
    for step, cause in causes[:MAX_ALARMS]:
        words = f" {meanings[step]} ({cause})"
        yield element("li", span_button(step, step + 1, f"▲ {step:,}"), words)
    if len(causes) > MAX_ALARMS:
        yield element("li", f"and {len(causes) - MAX_ALARMS:,} more alarms")


class Flag(IntFlag):
    """Events of a step, as bits that page.js reads."""

    ABSTAINED = 1
    DENIED = 2
    ALARMED = 4
    SHIFTED = 8
    STARTED = 16
    WRONG = 32
    MISSED = 64
    AMBER = 128


def timeline(view: View, panels: int) -> dict[str, Any]:
    """One profile's columns as page.js reads them, where so many share the page."""
    trace, steps, room = view.trace, len(view.stream), PAGE_BYTES // panels
    size = 1 if steps * STEP_BYTES <= room else -(-steps * CELL_BYTES // room)
    risk = np.rint(trace.risk * RISK_LEVELS)
    threshold = np.clip(np.rint(trace.threshold * RISK_LEVELS), 0, RISK_LEVELS)
    known = np.nan_to_num(view.accuracy, nan=UNKNOWN_ACCURACY / FULL_ACCURACY)
    accuracy = np.rint(known * FULL_ACCURACY)
    begins = np.arange(0, len(risk), size)
    columns = {
        "threshold": np.minimum.reduceat(threshold, begins).astype("<u2"),
        "accuracy": np.minimum.reduceat(accuracy, begins).astype("u1"),
        "flags": np.bitwise_or.reduceat(_flags(view), begins),
    }
    if size == 1:
        columns["risk"] = risk.astype("<u2")
    else:
        lengths = np.diff([*begins, len(risk)])
        columns["risk"] = np.rint(np.add.reduceat(risk, begins) / lengths).astype("<u2")
        columns["low"] = np.minimum.reduceat(risk, begins).astype("<u2")
        columns["high"] = np.maximum.reduceat(risk, begins).astype("<u2")
    causes = steps_by_cause(list(trace.alarms.items())[:MAX_CAUSES])
    deflated = {name: zlib.compress(column.tobytes(), 9) for name, column in columns.items()}
    packed = {name: base64.b64encode(column).decode() for name, column in deflated.items()}
    return {"size": size, "columns": packed, "causes": causes}


def _flags(view: View) -> NDArray[np.uint8]:
    trace, flags = view.trace, np.zeros(len(view.stream), np.uint8)
    flags[view.stream.starts] |= np.uint8(Flag.STARTED)
    for flag, at in (
        (Flag.ABSTAINED, trace.outcome == Outcome.ABSTAIN),
        (Flag.DENIED, trace.outcome == Outcome.DENIED),
        (Flag.ALARMED, trace.alarm > 0),
        (Flag.AMBER, trace.amber & (trace.alarm == 0)),
        (Flag.SHIFTED, view.shifted),
        (Flag.WRONG, view.wrong),
        (Flag.MISSED, view.missed),
    ):
        flags[at] |= np.uint8(flag)
    return flags
