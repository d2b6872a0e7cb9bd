# SPDX-License-Identifier: Apache-2.0
"""What the charts show: risk-coverage, reliability, and the signals' tails."""

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from tcuq.charts import Axis, Chart, Legend, legend
from tcuq.charts.markup import element
from tcuq.evaluation.measures import ECE_BINS, risk_coverage
from tcuq.profile.settings import RISK_LEVELS, AnchoredScoreSettings
from tcuq.reports.tables import RIVALS, health_table
from tcuq.reports.view import View

NAMES = {
    "divergence": "divergence",
    "instability": "instability",
    "inconsistency": "inconsistency",
    "doubt": "doubt",
    "low_confidence": "low confidence, ln(1 − C)",
    "departure": "departure of the outputs, ln(1 + |o|²)",
    "novelty": "novelty, ln(1 + d²)",
    "contradiction": "contradiction, log-odds of the past against the label",
    "health": "input health, ln(1 + Σ z²)",
}
CURVE_POINTS = 120
SMALLEST_SHARE = 1e-3

Floats = NDArray[np.float64]


def of_labels(views: Sequence[View]) -> Iterator[Element]:
    """Accuracy over time, risk-coverage, the classifier's reliability, risks of right and wrong."""
    yield _estimated_accuracy(views)
    if not views[0].known.any():
        for title in ("Risk and coverage", "Reliability"):
            text = "Cannot be drawn: the stream has no labels."
            empty = element("p", text, class_="empty")
            yield element("div", element("h3", title), empty, class_="card")
    else:
        yield _risk_coverage(views)
        yield _reliability(views[0])
    yield from (_risk_tail(view, alone=len(views) == 1) for view in views)


def _estimated_accuracy(views: Sequence[View]) -> Element:
    """The estimate of each profile by step, beside the true accuracy where there are labels."""
    steps, window = len(views[0].stream), min(views[0].window, len(views[0].stream))
    at = np.unique(np.linspace(window - 1, steps - 1, CURVE_POINTS).astype(int))
    x = Axis.linear(0, max(1, steps - 1), "step", text=lambda v: f"{v:,.0f}")
    y = Axis(0, 1, "accuracy", [(v, f"{100 * v:g}%") for v in (0, 0.25, 0.5, 0.75, 1)])
    chart = Chart(f"Estimated accuracy of the last {window:,} steps", x, y)
    names = [view.name if len(views) > 1 else "estimated, without labels" for view in views]
    entries = [(f"series{index}", name) for index, name in enumerate(names)]
    for index, view in enumerate(views):
        chart.line(at, view.trace.estimated_accuracy(window)[at], f"series{index}")
    true = at[np.isfinite(views[0].accuracy[at])]
    if true.size > 1:
        chart.line(true, views[0].accuracy[true], "dashed")
        entries.append(("dashed", "by the labels"))
    note = f"Of the last {window:,} steps. It ranks stretches better than it measures them."
    return _card("Estimated accuracy", chart, entries, note)


def _risk_coverage(views: Sequence[View]) -> Element:
    known, wrong = views[0].known, views[0].wrong
    error = float(wrong[known].mean())
    rivals = dict(views[0].evaluation.risk_coverage)
    rivals.pop("monitor")
    all_curves = [*(view.evaluation.risk_coverage["monitor"] for view in views), *rivals.values()]
    curves = [tuple(zip(*curve, strict=True)) for curve in all_curves]
    top = min(1.0, max(0.05, 1.1 * max(error, *(max(y) for _, y in curves))))
    title = f"Error among the least risky steps by coverage; of all steps {error:.1%} are wrong"
    chart = _share_chart(title, "coverage", "error among covered", top)
    chart.line((0, 1), (error, error), "dashed")
    chart.line(*risk_coverage(wrong[known], wrong[known].astype(float)), "ideal")
    for index, (x, y) in enumerate(curves):
        chart.line(x, y, f"series{index}")
    for index, view in enumerate(views):
        accepted = known & view.accepted
        if accepted.any():
            share = float(accepted.sum() / known.sum())
            chart.point(share, float(wrong[accepted].mean()), f"series{index}", 5)
    names = [view.name if len(views) > 1 else "ordered by risk" for view in views]
    names += [f"by {RIVALS[name]}" for name in rivals]
    entries = [(f"series{index}", name) for index, name in enumerate(names)]
    entries += [("dashed", "ordered at random"), ("ideal", "perfect order")]
    note = "The dot is what was accepted, budget and all. Lower is better."
    return _card("Risk and coverage", chart, entries, note)


def _reliability(view: View) -> Element:
    groups = [("stream", "as recorded", view.known & ~view.shifted)]
    if view.shifted.any():
        groups = [
            ("stream", "unshifted", view.known & ~view.shifted),
            ("shifted", "shifted", view.known & view.shifted),
        ]
    chart = _share_chart("Accuracy by the classifier's confidence", "confidence", "accuracy", 1.0)
    chart.line((0, 1), (0, 1), "dashed")
    for kind, _, at in groups:
        confidence, wrong = view.signals.confidence[at], view.wrong[at]
        bins = np.minimum((confidence * ECE_BINS).astype(int), ECE_BINS - 1)
        for number in np.unique(bins):
            inside = bins == number
            accuracy = float(1 - wrong[inside].mean())
            radius = 2.5 + 9 * float(np.sqrt(inside.mean()))
            chart.point(float(confidence[inside].mean()), accuracy, f"bubble {kind}", radius)
    entries = [(f"spot {kind}", text) for kind, text, at in groups if at.any()]
    entries.append(("dashed", "confidence is accuracy"))
    return _card("Reliability", chart, entries, "The larger a dot, the more of the steps.")


def of_signals(view: View, *, alone: bool) -> Iterator[Element]:
    """The tail of every signal, beside calibration's where the profile has it."""
    if not alone:
        yield element("h3", view.name)
    cards, calibrated = [], _calibrated(view)
    split = view.shifted.any() and not view.shifted.all()
    groups = (
        [("stream", "unshifted", ~view.shifted), ("shifted", "shifted", view.shifted)]
        if split
        else [("stream", "this stream", np.ones(len(view.stream), np.bool_))]
    )
    names: list[str] = [*view.profile.present_signals]
    if view.signals.health is not None:
        names.append("health")
    for signal in names:
        column = view.signals.named(signal)
        curves = [(kind, *_survival(column[at])) for kind, _, at in groups]
        entries = [(kind, text) for kind, text, _ in groups]
        if signal in calibrated:
            curves.insert(0, ("calibration", *calibrated[signal]))
            entries.append(("calibration", "calibration"))
        chart = _tail_chart(NAMES[signal], f"Tail of {NAMES[signal]}", curves)
        cards.append(_card(NAMES[signal].partition(",")[0].capitalize(), chart, entries, ""))
    yield element("div", *cards, class_="grid small")
    if view.signals.health is not None:
        yield health_table(view, groups)
    if view.profile.inputs.width == 0:
        text = "No features were recorded: there is no instability and no novelty."
        yield element("p", text, class_="empty")


def _risk_tail(view: View, *, alone: bool) -> Element:
    groups = [("stream", "all steps", np.ones(len(view.stream), np.bool_))]
    if view.wrong.any() and (view.known & ~view.wrong).any():
        groups = [("stream", "right", view.known & ~view.wrong), ("wrong", "wrong", view.wrong)]
    curves = [(kind, *_survival(view.trace.risk[at])) for kind, _, at in groups]
    anchor = view.profile.threshold.anchor / RISK_LEVELS
    chart = _tail_chart("risk", "Tail of the risk", curves, anchor)
    note = "The dashed line is the calibrated quantile, which the threshold starts from."
    entries = [(kind, text) for kind, text, _ in groups]
    return _card("Risk" if alone else f"Risk, {view.name}", chart, entries, note)


def _calibrated(view: View) -> dict[str, tuple[Floats, Floats]]:
    """Calibration's tails, of signals that the score reads as they are."""
    score = view.profile.score
    if not isinstance(score, AnchoredScoreSettings):
        return {}
    return {
        term.signal: (np.array(term.points), 2.0 ** -np.array(term.bits))
        for term in score.terms
        if (term.scale, term.ewma) == ("surprise", None)
    }


def _survival(values: Floats) -> tuple[Floats, Floats]:
    """Some of the values, ascending, and the share of values that are at least as high."""
    ordered = np.sort(values)
    shares = np.geomspace(1 / len(ordered), 1, CURVE_POINTS)
    even = np.linspace(0, len(ordered) - 1, CURVE_POINTS)
    ranks = np.unique(np.concatenate([len(ordered) * (1 - shares), even]).astype(np.int64))
    points = ordered[ranks]
    return points, 1 - np.searchsorted(ordered, points, side="left") / len(ordered)


def _tail_chart(
    name: str,
    title: str,
    curves: Sequence[tuple[str, Floats, Floats]],
    calibrated: float | None = None,
) -> Chart:
    """Shares of steps at or above a value, on a log scale: where a distribution's tail shows."""
    low = min(float(x[0]) for _, x, _ in curves)
    high = max(float(x[-1]) for _, x, _ in curves)
    high = high if high > low else low + 1
    smallest = int(np.log10(SMALLEST_SHARE))
    powers = [(p, f"{100 * 10.0**p:g}%") for p in range(smallest, 1)]
    y = Axis(smallest, 0, "share of steps at or above", powers)
    chart = Chart(title, Axis.linear(low, high, name), y)
    for kind, x, share in curves:
        shown = share >= SMALLEST_SHARE
        chart.line(x[shown], np.log10(share[shown]), kind)
    if calibrated is not None and low <= calibrated <= high:
        chart.vertical(calibrated, "calibrated")
    return chart


def _share_chart(title: str, x_label: str, y_label: str, top: float) -> Chart:
    """An empty chart of shares against shares, in percent."""
    x = Axis(0, 1, x_label, [(v, f"{100 * v:g}%") for v in (0, 0.25, 0.5, 0.75, 1)])
    return Chart(title, x, Axis.linear(0, top, y_label, text=lambda v: f"{100 * v:.3g}%"))


def _card(title: str, chart: Chart, entries: Legend, note: str) -> Element:
    caption = element("figcaption", note, class_="note") if note else None
    return element(
        "figure", element("h3", title), chart.svg(), legend(entries), caption, class_="card"
    )
