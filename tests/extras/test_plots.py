# SPDX-License-Identifier: Apache-2.0
"""Plots for notebooks, and the error without Matplotlib."""

import subprocess
import sys
from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Rectangle

import tcuq
from tcuq.decision import Trace
from tcuq.demo import demo_stream
from tcuq.errors import CalibrationWarning, InputError, MissingExtraError
from tcuq.profile.settings import AlarmFlag


@pytest.fixture(autouse=True)
def _agg() -> Iterator[None]:
    """Draw into memory, and close every figure."""
    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.fixture
def trace() -> Trace:
    """Return ten steps: two abstained in a row, one denied, alarms of two causes."""
    ten = Trace.empty(10, ("microphone level",))
    ten.risk[:] = np.linspace(0, 1, 10)
    ten.threshold[:] = 0.6
    ten.outcome[4:6], ten.outcome[8] = 1, 2
    ten.alarm[7:] = [AlarmFlag.NOVELTY, AlarmFlag.HEALTH, AlarmFlag.NOVELTY]
    ten.cause[8] = 1
    return ten


def strips(ax: Axes) -> list[list[tuple[float, float]]]:
    """Return the spans of steps that each strip marks."""
    polygons = [c for c in ax.collections if isinstance(c, PolyCollection)]
    sides = [[np.asarray(path.vertices)[:, 0] for path in c.get_paths()] for c in polygons]
    return [[(float(x.min()), float(x.max())) for x in strip] for strip in sides]


def test_trace_plot_shows_risk_outcomes_and_alarms_by_cause(trace: Trace) -> None:
    """Lines show the trace, strips cover its steps, and an alarm's row names its cause."""
    shifted = np.arange(10) >= 5
    ax = trace.plot(starts=np.array([0, 3]), shifted=shifted)
    assert np.array_equal(ax.lines[0].get_ydata(), trace.risk)
    assert strips(ax) == [[(3.5, 5.5)], [(7.5, 8.5)], [(4.5, 9.5)]]
    names = [label.get_text() for label in ax.get_yticklabels()][3:]
    causes = ["alarm: novelty", "alarm: input health: microphone level"]
    assert names == ["abstained", "denied", *causes, "shifted"]
    alarms = [line for line in ax.lines if line.get_marker() == "^"]
    assert [np.asarray(line.get_xdata()).tolist() for line in alarms] == [[7, 9], [8]]
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "risk", "threshold", "new recording",
    ]  # fmt: skip


def test_trace_plot_uses_the_given_axes_and_shifts(trace: Trace) -> None:
    """The given axes are returned, an empty trace is plotted, shifts must be one per step."""
    _, ax = plt.subplots()
    assert trace.plot(ax=ax) is ax
    assert Trace.empty(0).plot().get_xlabel() == "step"
    with pytest.raises(InputError, match=r"one value per step, 10, got shape \(3,\)"):
        trace.plot(shifted=[True, False, True])


def test_profile_plot_shows_every_term(profile: tcuq.Profile) -> None:
    """One line per surprise, from the bias up, and the channels' blocks in the title."""
    _, ax = plt.subplots()
    assert profile.plot(ax=ax) is ax
    assert profile.score.kind == "anchored"
    terms = [term for term in profile.score.terms if term.scale == "surprise"]
    lines = ax.lines[: len(terms)]
    for term, line in zip(terms, lines, strict=True):
        bits, values = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        assert values[0] == pytest.approx(profile.score.bias)
        reach = min(term.cap, bits[-1] - term.dead)
        assert values[-1] == pytest.approx(profile.score.bias + term.weight * reach)
    assert lines[2].get_label() == "novelty, mean of about 32 steps"
    assert profile.alarm is not None
    for channel in profile.alarm.channels:
        assert f"{channel.signal} {channel.block}" in ax.get_title()
    ax.figure.canvas.draw()


def test_profile_plot_shows_the_papers_weights() -> None:
    """A bar per weight, as large as it is."""
    calibration, development = demo_stream("calibration"), demo_stream("development")
    with pytest.warns(CalibrationWarning):
        paper = tcuq.fit(calibration, development, preset="paper")
    ax = paper.plot()
    assert paper.score.kind == "tcuq"
    widths = [bar.get_width() for bar in ax.patches if isinstance(bar, Rectangle)]
    assert len(widths) == 4
    assert widths[0] == pytest.approx(paper.score.weights.divergence)
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == "doubt"
    assert ax.get_title() == "no alarm"


def test_missing_matplotlib_is_named_with_its_extra(
    trace: Trace, profile: tcuq.Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the extra to install."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for plot in (trace.plot, profile.plot):
        with pytest.raises(MissingExtraError, match=r"pip install 'tcuq\[plot\]'"):
            plot()


def test_matplotlib_is_not_imported_before_a_plot() -> None:
    """`import tcuq` stays light."""
    code = "import sys, tcuq, tcuq._plots; print('matplotlib' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"
