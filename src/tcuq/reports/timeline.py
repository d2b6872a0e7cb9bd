# SPDX-License-Identifier: Apache-2.0
"""The timeline's section: controls, one canvas per profile that page.js draws, alarms, legend."""

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from tcuq.charts import legend
from tcuq.charts.markup import element
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
    causes = list(view.trace.alarms.items())
    if not causes:
        why = "No alarm." if view.profile.alarm is not None else "This profile has no alarm."
        yield element("li", why)
    for step, cause in causes[:MAX_ALARMS]:
        yield element("li", span_button(step, step + 1, f"▲ {step:,}"), f" {cause}")
    if len(causes) > MAX_ALARMS:
        yield element("li", f"and {len(causes) - MAX_ALARMS:,} more alarms")
