# SPDX-License-Identifier: Apache-2.0
"""What the charts show: risk-coverage, reliability, and the signals' tails."""

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

import numpy as np

from tcuq.evaluate.measures import ECE_BINS, risk_coverage
from tcuq.profile.settings import RISK_LEVELS, AnchoredScoreSettings
from tcuq.report.charts import Chart, Curve, Floats, share_chart, survival, tail_chart
from tcuq.report.elements import element
from tcuq.report.view import View

NAMES = {
    "divergence": "divergence",
    "instability": "instability",
    "inconsistency": "inconsistency",
    "doubt": "doubt",
    "low_confidence": "low confidence, ln(1 − C)",
    "novelty": "novelty, ln(1 + d²)",
}
Legend = list[tuple[str, str]]


def of_labels(views: Sequence[View]) -> Iterator[Element]:
    """Risk-coverage, the reliability of the one classifier, and the risk of right and wrong."""
    if not views[0].known.any():
        for title in ("Risk and coverage", "Reliability"):
            text = "Cannot be drawn: the stream has no labels."
            empty = element("p", text, class_="empty")
            yield element("div", element("h3", title), empty, class_="card")
    else:
        yield _risk_coverage(views)
        yield _reliability(views[0])
    yield from (_risk_tail(view, alone=len(views) == 1) for view in views)


def _risk_coverage(views: Sequence[View]) -> Element:
    known = views[0].known
    error = float(views[0].wrong[known].mean())
    legend: Legend = []
    curves, dots = [], []
    ideal = risk_coverage(views[0].wrong[known], views[0].wrong[known].astype(float))
    for index, view in enumerate(views):
        x, y = (np.array(part) for part in zip(*view.found.risk_coverage, strict=True))
        curves.append(Curve(f"line{index}", x, y))
        accepted = known & view.accepted
        if accepted.any():
            share = float(accepted.sum() / known.sum())
            dots.append((share, float(view.wrong[accepted].mean()), f"line{index}"))
        legend.append((f"line{index}", view.name if len(views) > 1 else "ordered by risk"))
    legend += [("dashed", "ordered at random"), ("ideal", "perfect order")]
    top = max(0.05, 1.1 * max(error, *(float(c.y.max()) for c in curves)))

    def draw(chart: Chart) -> None:
        chart.curve(Curve("dashed", np.array([0.0, 1.0]), np.array([error, error])))
        chart.curve(Curve("ideal", *ideal))
        for curve in curves:
            chart.curve(curve)
        for x, y, kind in dots:
            chart.dot(x, y, 5, kind)

    say = f"Error among the least risky steps by coverage; of all steps {error:.1%} are wrong"
    note = "The dot is what was accepted, budget and all. Lower is better."
    made = share_chart(say, "coverage", "error among covered", min(1.0, top), draw)
    return _card("Risk and coverage", made, legend, note)


def _reliability(view: View) -> Element:
    confidence, legend = view.signals.confidence, []
    groups = [("stream", "as recorded", view.known & ~view.shifted)]
    if view.shifted.any():
        groups = [
            ("stream", "unshifted", view.known & ~view.shifted),
            ("shifted", "shifted", view.known & view.shifted),
        ]

    def draw(chart: Chart) -> None:
        chart.curve(Curve("dashed", np.array([0.0, 1.0]), np.array([0.0, 1.0])))
        for kind, _, at in groups:
            if not at.any():
                continue
            bins = np.minimum((confidence[at] * ECE_BINS).astype(int), ECE_BINS - 1)
            for number in np.unique(bins):
                inside = bins == number
                chart.dot(
                    float(confidence[at][inside].mean()),
                    float(1 - view.wrong[at][inside].mean()),
                    2.5 + 9 * float(np.sqrt(inside.mean())),
                    kind,
                )

    legend = [(f"spot {kind}", text) for kind, text, at in groups if at.any()]
    legend.append(("dashed", "confidence is accuracy"))
    made = share_chart(
        "Accuracy by the classifier's confidence", "confidence", "accuracy", 1.0, draw
    )
    return _card("Reliability", made, legend, "The larger a dot, the more of the steps.")


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
    for signal in view.profile.present_signals:
        column = view.signals.named(signal)
        curves = [(kind, *survival(column[at])) for kind, _, at in groups]
        legend: Legend = [(kind, text) for kind, text, _ in groups]
        if signal in calibrated:
            curves.insert(0, ("calibration", *calibrated[signal]))
            legend.append(("calibration", "calibration"))
        made = tail_chart(NAMES[signal], f"Tail of {NAMES[signal]}", curves)
        cards.append(_card(signal.replace("_", " ").capitalize(), made, legend, ""))
    yield element("div", *cards, class_="grid small")
    if view.profile.inputs.width == 0:
        text = "No features were recorded: there is no instability and no novelty."
        yield element("p", text, class_="empty")


def _risk_tail(view: View, *, alone: bool) -> Element:
    groups = [("stream", "all steps", np.ones(len(view.stream), np.bool_))]
    if view.wrong.any() and (view.known & ~view.wrong).any():
        groups = [
            ("stream", "right", view.known & ~view.wrong),
            ("wrong", "wrong", view.wrong),
        ]
    curves = [(kind, *survival(view.trace.risk[at])) for kind, _, at in groups]
    anchor = view.profile.threshold.anchor / RISK_LEVELS
    made = tail_chart("risk", "Tail of the risk", curves, anchor)
    note = "The dashed line is the calibrated quantile, which the threshold starts from."
    legend = [(kind, text) for kind, text, _ in groups]
    return _card("Risk" if alone else f"Risk, {view.name}", made, legend, note)


def _calibrated(view: View) -> dict[str, tuple[Floats, Floats]]:
    """Calibration's tails, of signals that the score reads as they are."""
    score = view.profile.score
    if not isinstance(score, AnchoredScoreSettings):
        return {}
    return {
        term.signal: (np.array(term.points), 2.0 ** -np.array(term.bits))
        for term in score.terms
        if (term.tail, term.scale, term.ewma) == ("upper", "surprise", None)
    }


def _card(title: str, chart: Element, legend: Legend, note: str) -> Element:
    keys = [element("li", element("i", class_=f"key {kind}"), text) for kind, text in legend]
    return element(
        "figure",
        element("h3", title),
        chart,
        element("ul", *keys, class_="legend"),
        element("figcaption", note, class_="note") if note else None,
        class_="card",
    )
