# SPDX-License-Identifier: Apache-2.0
"""Matplotlib plots of a trace and of a profile, for notebooks. Extra `plot`.

The lower layers may not know Trace and Profile: this module reads their arrays and their JSON.
"""

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq._extras import import_extra
from tcuq.charts import palette
from tcuq.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW_HEIGHT, ROW_STEP = 0.05, 0.08  # of the strips above the risk, which ends at 1
RISK_LEVELS = 1 << 14
RISK_TICKS = (0.01, 0.1, 0.5, 0.9, 0.99)
CONFIDENCE_TICKS = (0.99, 0.9, 0.7, 0.5)
OUTCOMES = {"abstained": 1, "denied": 2}  # as the device numbers them
SERIES = ("risk", "threshold", "held", "alarm", "soft", "shifted", "denied", "teal")


def plot_trace(
    risk: NDArray[np.float64],
    threshold: NDArray[np.float64],
    outcome: NDArray[np.uint8],
    alarms: Mapping[int, str],
    *,
    ax: "Axes | None" = None,
    starts: ArrayLike | None = None,
    shifted: ArrayLike | None = None,
) -> "Axes":
    """Plot risk and threshold by step, and strips of outcomes, alarms by cause and shifts.

    Parameters
    ----------
    risk, threshold, outcome, alarms
        As in a Trace.
    ax
        Axes to draw in; None makes a figure.
    starts
        First steps of recordings, such as ``stream.starts``; each gets a dotted line.
    shifted
        Steps known to be shifted, such as ``stream.shifted``; they get a strip.
    """
    strips = _strips(outcome, alarms, shifted)
    ax, colours = _axes(ax, (10, 3.6)), palette()
    ax.plot(risk, color=colours["risk"], linewidth=0.7, label="risk")
    ax.plot(threshold, color=colours["threshold"], linewidth=1.6, label="threshold")
    for step in alarms:
        ax.axvline(step, color=colours["alarm"], linewidth=0.8, alpha=0.6)
    begins = np.asarray(() if starts is None else starts, np.int64)
    for number, step in enumerate(begins[begins > 0].tolist()):
        label = "new recording" if number == 0 else None
        ax.axvline(step, color=colours["soft"], linewidth=0.8, linestyle=":", label=label)
    ticks = {0: "0", 0.5: "0.5", 1: "1"}
    for row, (name, mask) in enumerate(strips.items(), start=1):
        low = 1 + row * ROW_STEP
        ticks[low + ROW_HEIGHT / 2] = name
        colour = colours.get(name, colours["alarm"])
        if name in colours:
            band = (low, ROW_HEIGHT)
            ax.broken_barh(_runs(mask), band, facecolor=colour, edgecolor=colour, linewidth=0.4)
        else:
            at = np.flatnonzero(mask)
            ax.plot(at, np.full(len(at), low + ROW_HEIGHT / 2), "^", color=colour, markersize=5)
    ax.set_yticks(list(ticks), list(ticks.values()))
    ax.set(xlabel="step", xlim=(0, max(len(risk), 1)), ylim=(0, 1 + ROW_STEP * (len(strips) + 1)))
    ax.legend(loc="upper left", bbox_to_anchor=(0, -0.12), ncols=3, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _strips(
    outcome: NDArray[np.uint8], alarms: Mapping[int, str], shifted: ArrayLike | None
) -> dict[str, NDArray[np.bool_]]:
    """The rows above the risk, from the lowest: which steps each marks."""
    strips = {name: outcome == code for name, code in OUTCOMES.items()}
    for step, cause in alarms.items():
        strips.setdefault(f"alarm: {cause}", np.zeros(len(outcome), np.bool_))[step] = True
    if shifted is not None:
        strips["shifted"] = np.asarray(shifted, np.bool_)
        if strips["shifted"].shape != outcome.shape:
            raise InputError(
                f"shifted must have one value per step, {len(outcome)},"
                f" got shape {strips['shifted'].shape}"
            )
    return strips


def _runs(mask: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """Return where runs of marked steps begin, and their lengths."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(begin - 0.5, end - begin) for begin, end in edges.reshape(-1, 2).tolist()]


def plot_profile(profile: str, *, ax: "Axes | None" = None) -> "Axes":
    """Plot what raises the risk: for each term of the score, by how unusual its signal is.

    A line shows the risk that a term alone gives a confident prediction. Where the score has the
    classifier's own odds, the axis on the right shows the confidence that gives the same risk.
    The paper's score has weights instead: they are shown as bars.

    Parameters
    ----------
    profile
        The JSON of a profile.
    ax
        Axes to draw in; None makes a figure.
    """
    document: dict[str, Any] = json.loads(profile)
    ax = _axes(ax, (8, 4.5))
    if document["score"]["kind"] == "anchored":
        _plot_terms(document["score"], document["threshold"]["anchor"] / RISK_LEVELS, ax)
    else:
        _plot_weights(document["score"], ax)
    channels = document["alarm"]["channels"] if document["alarm"] else []
    blocks = ", ".join(f"{_words(c['signal'])} {c['block']}" for c in channels)
    title = f"alarm channels, and steps per block: {blocks}" if blocks else "no alarm"
    ax.set_title(title, fontsize=9)
    ax.spines["top"].set_visible(False)
    return ax


def _plot_terms(score: Mapping[str, Any], anchor: float, ax: "Axes") -> None:
    colours, bias = palette(), score["bias"]
    terms = [term for term in score["terms"] if term["scale"] == "surprise"]
    widest = max((term["dead"] + term["cap"] for term in terms), default=1.0)
    bits = np.linspace(0, widest, 400)
    for term, colour in zip(terms, SERIES, strict=False):
        added = term["weight"] * np.clip(bits - term["dead"], 0, term["cap"])
        ax.plot(bits, bias + added, color=colours[colour], label=_term_name(term))
    rarest = max((term["bits"][-1] for term in terms), default=0.0)
    ax.axvline(
        rarest, color=colours["soft"], linewidth=0.8, linestyle=":", label="rarest in calibration"
    )
    ax.axhline(_logit(anchor), color=colours["soft"], linestyle="--", label="threshold at first")
    rarities = [10**power for power in range(int(widest * math.log10(2)) + 1)]
    ax.set_xticks([math.log2(n) for n in rarities], ["all", *(f"1 in {n:,}" for n in rarities[1:])])
    ax.set_yticks([_logit(risk) for risk in RISK_TICKS], [f"{risk:g}" for risk in RISK_TICKS])
    ax.set(
        xlabel="share of calibration steps at least as unusual", ylabel="risk from one term alone"
    )
    for term in score["terms"]:
        if term["scale"] == "odds":
            _mark_confidences(term, bias, ax)
    ax.legend(fontsize=8)


def _mark_confidences(term: Mapping[str, Any], bias: float, ax: "Axes") -> None:
    """Mark on the right which confidence of the classifier alone gives a risk."""
    right = ax.secondary_yaxis("right")
    doubts = [math.log(1 - confidence) for confidence in CONFIDENCE_TICKS]
    odds = np.interp(doubts, term["points"], term["bits"])
    places = bias + term["weight"] * np.clip(odds - term["dead"], 0, term["cap"])
    right.set_yticks(places.tolist(), [f"{confidence:g}" for confidence in CONFIDENCE_TICKS])
    right.set_ylabel("confidence alone that gives this risk")


def _plot_weights(score: Mapping[str, Any], ax: "Axes") -> None:
    weights = {_words(n): w for n, w in score["weights"].items() if w is not None}
    signs = [palette()["risk" if weight >= 0 else "denied"] for weight in weights.values()]
    ax.barh(list(weights), list(weights.values()), color=signs)
    ax.axvline(0, color=palette()["soft"], linewidth=0.8)
    ax.set_xlabel(f"weight in the paper's score, which is {score['mix']:.0%} of the risk")
    ax.invert_yaxis()


def _term_name(term: Mapping[str, Any]) -> str:
    name = _words(term["signal"])
    return name if term["ewma"] is None else f"{name}, mean of about {1 << term['ewma']} steps"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _logit(risk: float) -> float:
    inside = min(max(risk, 1 / RISK_LEVELS), 1 - 1 / RISK_LEVELS)
    return math.log(inside / (1 - inside))


def _axes(ax: "Axes | None", size: tuple[float, float]) -> "Axes":
    """Return the given axes, or those of a new figure."""
    plt = import_extra("matplotlib.pyplot", "plot")
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax
