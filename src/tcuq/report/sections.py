# SPDX-License-Identifier: Apache-2.0
"""The page's sections, each from what the views know; several profiles stand side by side."""

from collections.abc import Callable, Iterator, Sequence
from xml.etree.ElementTree import Element

import numpy as np

from tcuq._charts.markup import Child, element
from tcuq.evaluate.table import short
from tcuq.report import diagrams, profiles
from tcuq.report.missed import confusions, drops, missed_runs
from tcuq.report.promises import promises
from tcuq.report.timeline import span_button, timeline_section
from tcuq.report.view import View
from tcuq.stages.budget import Outcome
from tcuq.version import __version__

SHOWN = 8  # rows of a list, the worst first

OUTCOMES = {Outcome.ACCEPT: "accepted", Outcome.ABSTAIN: "abstained", Outcome.DENIED: "denied"}

Views = Sequence[View]


def all_of(views: Views, name: str) -> Iterator[Element]:
    """The page from top to bottom."""
    stream = views[0].stream
    yield element(
        "header",
        element("p", "tcuq report", class_="kicker"),
        element("h1", name),
        element("p", ", ".join(_described(views[0])), "."),
    )
    yield _section("At a glance", "", _glance(views))
    yield _section("Timeline", "", *timeline_section(views))
    yield _section(
        "What the monitor would have missed",
        "Steps it accepted that were wrong, and drops in accuracy of which no alarm spoke.",
        _grid(views, _missed),
    )
    yield _section(
        "Promises",
        "What is promised of every stream, under which assumption, and what this stream says.",
        *_promises(views),
    )
    yield _section(
        "Right and wrong",
        "How well the risk sorts the steps, and what the classifier's own confidence is worth.",
        element("div", *diagrams.of_labels(views), class_="grid small"),
    )
    yield _section(
        "Signals",
        "The share of steps at or above a value, on a log scale: tails are where a monitor looks.",
        *(part for view in views for part in diagrams.of_signals(view, alone=len(views) == 1)),
    )
    yield _section(
        "Measures",
        "With 95% intervals that respect autocorrelation, beside what monitors that know nothing"
        " would have scored.",
        _measures(views),
    )
    yield _section("Calibration", "", _grid(views, profiles.calibration))
    yield _section("The device's cost", "", _grid(views, profiles.cost))
    yield element(
        "footer",
        element("p", f"Made by tcuq {__version__}. Decisions are those of the device's own code."),
        element("p", f"stream {stream.sha256}"),
        *(element("p", f"profile {view.profile.sha256}") for view in views),
    )


def _section(title: str, lead: str, *children: Child) -> Element:
    told = element("p", lead, class_="lead") if lead else None
    return element("section", element("h2", title), told, *children)


def _grid(views: Views, card: Callable[[View], Iterator[Element]]) -> Element:
    """A card a profile, named where there are several."""
    made = []
    for view in views:
        head = element("h3", view.name) if len(views) > 1 else None
        made.append(element("div", head, *card(view), class_="card"))
    return element("div", *made, class_="grid wide" if len(views) == 1 else "grid small")


def _described(view: View) -> Iterator[str]:
    stream, recordings = view.stream, len(view.stream.starts)
    yield f"{len(stream):,} steps in {recordings:,} recording{'s' if recordings > 1 else ''}"
    yield f"{stream.classes} classes"
    yield f"{stream.width} features" if stream.width else "no features"
    yield f"{int(view.known.sum()):,} steps labelled" if view.known.any() else "no labels"
    yield "shifts not marked" if stream.shifted is None else f"{int(view.shifted.sum()):,} shifted"


def _glance(views: Views) -> Element:
    made = [list(_tiles(view)) for view in views]
    if len(views) == 1:
        tiles = [
            element(
                "div",
                element("dt", word),
                element("dd", value, class_="figure"),
                element("dd", more, class_="more"),
            )
            for word, value, more in made[0]
        ]
        return element("div", element("dl", *tiles, class_="tiles"), class_="card")
    rows = [
        [row[0][0], *(_figure(value, more) for _, value, more in row)]
        for row in zip(*made, strict=True)
    ]
    return _table("At a glance", ["of the steps", *(view.name for view in views)], rows)


def _figure(value: str, more: str) -> Element:
    return element("span", value, element("small", f" {more}"), class_="value")


def _tiles(view: View) -> Iterator[tuple[str, str, str]]:
    """What is counted, how much of it, and of what."""
    outcome, alarms = view.trace.outcome, np.flatnonzero(view.trace.alarm)
    for kind, word in OUTCOMES.items():
        at = outcome == kind
        yield word, f"{at.mean():.1%}", f"{int(at.sum()):,} of {len(at):,} steps"
    nothing = "in the whole stream" if view.profile.alarm is not None else "the profile has none"
    yield "alarms", f"{len(alarms):,}", f"first at {alarms[0]:,}" if len(alarms) else nothing
    wrong = "of accepted are wrong"
    if not view.known.any():
        yield wrong, "not known", "the stream has no labels"
        return
    accepted, overall = view.known & view.accepted, view.wrong[view.known].mean()
    error = f"{view.wrong[accepted].mean():.1%}" if accepted.any() else "–"
    yield wrong, error, f"{overall:.1%} of all labelled"


def _missed(view: View) -> Iterator[Element]:
    if not view.known.any():
        yield element(
            "p",
            "This cannot be known: the stream has no labels. An alarm says that the stream is not"
            " the one calibrated on; that a classifier is wrong on data that look usual, only"
            " labels can say.",
            class_="empty",
        )
        return
    parts = (_accepted_errors(view), _silent_drops(view))
    yield element("div", *(element("div", *part) for part in parts), class_="pair")


def _accepted_errors(view: View) -> Iterator[Element]:
    runs, count = missed_runs(view), int(view.missed.sum())
    if not runs:
        yield element("p", "No accepted step was wrong.", class_="empty")
        return
    wrong = int(view.wrong.sum())
    yield element(
        "p",
        element("strong", f"{count:,} of {wrong:,} errors were accepted"),
        f", in {len(runs):,} runs of the same error. The longest"
        f"{'' if len(runs) <= SHOWN else f' {SHOWN}'}:",
    )
    rows: list[list[Child]] = [
        [
            span_button(run.begin, run.end, _span(run.begin, run.end)),
            f"{run.end - run.begin:,}",
            str(run.said),
            str(run.truth),
            f"{run.lowest_risk:.3f}",
        ]
        for run in runs[:SHOWN]
    ]
    yield _table(
        f"Accepted errors, {view.name}", ["at", "steps", "said", "truth", "lowest risk"], rows
    )
    pairs = confusions(view)
    common = "; ".join(f"{said} for {truth}: {n:,}" for said, truth, n in pairs[:4])
    yield element("p", f"Most often said in place of the truth: {common} steps.", class_="note")


def _silent_drops(view: View) -> Iterator[Element]:
    if np.isnan(view.floor):
        yield element(
            "p",
            f"Whether accuracy dropped cannot be said: no {view.window} consecutive unshifted"
            " steps have labels enough to say what is usual.",
            class_="empty",
        )
        return
    found = drops(view)
    silent = [drop for drop in found if not drop.alarmed]
    usual = f"below {view.floor:.0%}, three deviations under its usual mean"
    if not found:
        told = f"Accuracy over {view.window} steps never fell {usual}."
        yield element("p", told, class_="empty")
        return
    yield element(
        "p",
        element(
            "strong", f"{len(silent):,} of {len(found):,} drops in accuracy came without an alarm"
        ),
        f". A drop: accuracy over {view.window} steps {usual}."
        " Refused: abstained or denied. Alarms: how many steps away.",
    )
    rows: list[list[Child]] = [
        [
            span_button(drop.begin - view.window + 1, drop.end, _span(drop.begin, drop.end)),
            f"{drop.lowest:.0%}",
            f"{drop.asked:.0%}",
            _nearest(drop.nearest_alarm),
        ]
        for drop in silent[:SHOWN]
    ]
    if rows:
        columns = ["at", "lowest", "refused", "nearest alarm"]
        yield _table(f"Drops in accuracy, {view.name}", columns, rows)
    if len(silent) > SHOWN:
        yield element("p", f"The deepest {SHOWN} of {len(silent):,}.", class_="note")


def _nearest(steps: int | None) -> str:
    if steps is None:
        return "–"
    return f"{abs(steps):,} {'before' if steps < 0 else 'after'}"


def _span(begin: int, end: int) -> str:
    return f"{begin:,}" if end == begin + 1 else f"{begin:,}–{end - 1:,}"


def _promises(views: Views) -> Iterator[Element]:
    """A card a promise; profiles that were promised the same share its words."""
    cards = []
    for row in zip(*(promises(view) for view in views), strict=True):
        parts, shared = [], len({promise.promise for promise in row}) == 1
        if shared:
            parts.append(element("h3", row[0].promise))
        for view, promise in zip(views, row, strict=True):
            if not shared:
                parts.append(element("h3", f"{view.name}: {promise.promise}"))
            named = f"{view.name}: " if shared and len(views) > 1 else ""
            kind = f"verdict {promise.verdict.split()[0]}"
            verdict = element("strong", promise.verdict, class_=kind)
            parts.append(element("p", verdict, f" {named}{promise.found}"))
        assumed = element("p", element("em", "Assumes: "), row[0].assumption, class_="note")
        cards.append(element("div", *parts, assumed, class_="card"))
    yield element("div", *cards, class_="grid")


def _measures(views: Views) -> Element:
    alone = len(views) == 1
    names = list(dict.fromkeys(m.name for view in views for m in view.found.measures))
    rows: list[list[Child]] = []
    for name in names:
        row: list[Child] = [name]
        for view in views:
            found = {m.name: m for m in view.found.measures}.get(name)
            row.append("–" if found is None else _value(found.value, found.low, found.high))
        if alone:
            measure = views[0].found[name]
            dummies = ", ".join(f"{n} {short(v)}" for n, v in measure.dummies.items())
            note = f" ({measure.note})" if measure.note else ""
            row.append(f"{dummies}{note}")
        rows.append(row)
    columns = ["measure", *(("value",) if alone else [v.name for v in views])]
    if alone:
        columns.append("dummies")
    return _table("Measures by name", columns, rows, "measures" if alone else "")


def _value(value: float, low: float, high: float) -> Element:
    interval = element("small", f" {short(low)} to {short(high)}") if np.isfinite(low) else None
    return element("span", short(value), interval, class_="value")


def _table(
    caption: str, columns: Sequence[str], rows: Sequence[Sequence[Child]], kind: str = ""
) -> Element:
    head = element("tr", *(element("th", name, scope="col") for name in columns))
    body = [element("tr", *(element("td", cell) for cell in row)) for row in rows]
    table = element(
        "table",
        element("caption", caption, class_="unseen"),
        element("thead", head),
        element("tbody", *body),
    )
    return element(
        "div", table, class_=f"scroll {kind}".strip(), tabindex=0, role="region", aria_label=caption
    )
