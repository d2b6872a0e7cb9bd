# SPDX-License-Identifier: Apache-2.0
"""The page's sections; several profiles are shown side by side."""

from collections.abc import Callable, Iterator, Sequence
from xml.etree.ElementTree import Element

from tcuq.charts.markup import Child, element, table
from tcuq.reports import diagrams, profiles
from tcuq.reports.missed import missed_elements
from tcuq.reports.promises import promises
from tcuq.reports.tables import figure, measures_table, selection_table
from tcuq.reports.timeline import timeline_section
from tcuq.reports.view import View
from tcuq.stages.budget import Outcome
from tcuq.version import __version__

OUTCOMES = {Outcome.ACCEPT: "accepted", Outcome.ABSTAIN: "abstained", Outcome.DENIED: "denied"}

Views = Sequence[View]


def sections(views: Views, name: str) -> Iterator[Element]:
    """All sections, from top to bottom."""
    stream = views[0].stream
    yield element(
        "header",
        element("p", "tcuq report", class_="kicker"),
        element("h1", name),
        *_summaries(views),
        element("p", ", ".join(_described(views[0])), "."),
    )
    yield _section("At a glance", "", *_glance(views))
    yield _section("Timeline", "", *timeline_section(views))
    yield _section(
        "What the monitor would have missed",
        "Wrong predictions that it accepted, and drops in accuracy without an alarm.",
        _grid(views, missed_elements),
    )
    yield _section(
        "Promises",
        "Each promise, what it assumes, and whether it held on this stream.",
        *_promises(views),
    )
    yield _section(
        "Correct and wrong predictions",
        "How many predictions are probably right, how well the risk ranks them, and how reliable"
        " the classifier's confidence is.",
        element("div", *diagrams.of_labels(views), class_="grid small"),
    )
    yield _section(
        "Signals",
        "Share of steps at or above a value, on a log scale: a shift shows in the tail.",
        *(part for view in views for part in diagrams.of_signals(view, alone=len(views) == 1)),
    )
    yield _section(
        "Measures",
        "With 95% confidence intervals that respect autocorrelation. Baselines: softmax (by the"
        " confidence), scaled (the same after temperature scaling), always and never (withhold"
        " every prediction, or none), uniform (equal probabilities for all classes).",
        *measures_table(views),
    )
    yield _section("Calibration", "", _grid(views, profiles.calibration))
    yield _section("Cost on the device", "", _grid(views, profiles.cost))
    yield element(
        "footer",
        element("p", f"Made by tcuq {__version__}. The C code of the device made the decisions."),
        element("p", f"stream {stream.sha256}"),
        *(element("p", f"profile {view.profile.sha256}") for view in views),
    )


def _section(title: str, lead: str, *children: Child) -> Element:
    text = element("p", lead, class_="lead") if lead else None
    return element("section", element("h2", title), text, *children)


def _grid(views: Views, card: Callable[[View], Iterator[Element]]) -> Element:
    """One card per profile, named where there are several."""
    cards = []
    for view in views:
        head = element("h3", view.name) if len(views) > 1 else None
        cards.append(element("div", head, *card(view), class_="card"))
    return element("div", *cards, class_="grid wide" if len(views) == 1 else "grid small")


def _summaries(views: Views) -> Iterator[Element]:
    """Say in one sentence what each monitor accepted, beside a softmax threshold."""
    for view in views:
        name = f"{view.name}: " if len(views) > 1 else ""
        sentence = element("strong", view.evaluation.comparison.sentence)
        yield element("p", name, sentence, class_="lead")


def _described(view: View) -> Iterator[str]:
    stream, recordings = view.stream, len(view.stream.starts)
    yield f"{len(stream):,} steps in {recordings:,} recording{'s' if recordings > 1 else ''}"
    yield stream.what
    yield f"{stream.width} features" if stream.width else "no features"
    if stream.health is not None:
        yield f"{len(stream.health_names)} statistics of input health"
    yield f"{int(view.known.sum()):,} steps labelled" if view.known.any() else "no labels"
    yield "shifts not marked" if stream.shifted is None else f"{int(view.shifted.sum()):,} shifted"


def _glance(views: Views) -> Iterator[Element]:
    figures = [list(_tiles(view)) for view in views]
    if len(views) == 1:
        tiles = [
            element(
                "div",
                element("dt", word),
                element("dd", value, class_="figure"),
                element("dd", more, class_="more"),
            )
            for word, value, more in figures[0]
        ]
        listed = element("dl", *tiles, class_="tiles")
        yield element("div", listed, selection_table(views), class_="card")
    else:
        rows = [
            [row[0][0], *(figure(value, more) for _, value, more in row)]
            for row in zip(*figures, strict=True)
        ]
        yield table(["share of steps", *(view.name for view in views)], rows, "At a glance")
        yield selection_table(views)


def _tiles(view: View) -> Iterator[tuple[str, str, str]]:
    """The name of each figure, the figure, and a remark."""
    outcome, alarms = view.trace.outcome, list(view.trace.alarms.items())
    for kind, word in OUTCOMES.items():
        at = outcome == kind
        yield word, f"{at.mean():.1%}", f"{int(at.sum()):,} of {len(at):,} steps"
    first = "in the whole stream" if view.profile.alarm is not None else "this profile has none"
    if alarms:
        step = alarms[0][0]
        first = f"first at step {step:,}: {view.trace.meanings[step]}"
    yield "alarms", f"{len(alarms):,}", first
    estimate = f"{1 - view.trace.expected_error.mean():.1%}"
    yield "estimated accuracy", estimate, _of_estimate(view)
    wrong = "error among accepted"
    if not view.known.any():
        yield wrong, "unknown", "the stream has no labels"
        return
    accepted, overall = view.known & view.accepted, view.wrong[view.known].mean()
    error = f"{view.wrong[accepted].mean():.1%}" if accepted.any() else "–"
    yield wrong, error, f"{overall:.1%} among all predictions"


def _of_estimate(view: View) -> str:
    if not view.known.any():
        return "without labels, of all predictions"
    return f"without labels; the labels say {1 - view.wrong[view.known].mean():.1%}"


def _promises(views: Views) -> Iterator[Element]:
    """One card per promise; profiles with the same promise share its words."""
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
            parts.append(element("p", verdict, f" {named}{promise.evidence}"))
        assumed = element("p", element("em", "Assumes: "), row[0].assumption, class_="note")
        cards.append(element("div", *parts, assumed, class_="card"))
    yield element("div", *cards, class_="grid")
