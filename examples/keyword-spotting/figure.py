# SPDX-License-Identifier: Apache-2.0
"""Draw story.svg: risk, shares of accepted and right steps, and alarms over the story."""

from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import story
from tcuq.charts import Axis, Chart, Frame, standalone_svg

HERE = Path(__file__).resolve().parent
BLOCK = 32  # steps per point
FRAME = Frame(width=860, height=270, left=60, right=90, top=40, bottom=40)


def chart(arrays: dict[str, NDArray[Any]], table: story.Table) -> Chart:
    """Return the chart, with means over blocks of 32 steps."""
    steps = len(table)
    label, risk, outcome, alarm = (
        table[:, story.COLUMNS.index(name)] for name in ("label", "risk", "outcome", "alarm")
    )
    share = Axis(0, 1, "mean over 32 steps", [(0, "0"), (0.5, "0.5"), (1, "1")])
    picture = Chart("The story on the device", Axis.linear(0, steps, "step"), share, FRAME)
    ends = list(accumulate(arrays["lengths"].tolist(), initial=0))
    for name, (begin, end) in zip(arrays["chapters"], pairwise(ends), strict=True):
        picture.vertical(begin, str(name) if end - begin > steps / 12 else "")
    lines = {
        "risk": risk / story.RISK_LEVELS,
        "accepted": outcome == 0,
        "right": label == arrays["labels"],
    }
    for number, (name, values) in enumerate(lines.items()):
        means = values[: steps // BLOCK * BLOCK].reshape(-1, BLOCK).mean(axis=1)
        picture.line((np.arange(len(means)) + 0.5) * BLOCK, means, f"series{number}")
        picture.margin_text(FRAME.top + 40 * (number + 1), name, f"series{number}")
    for step in np.flatnonzero(alarm).tolist():
        picture.point(step, 1, "series3", 4, f"alarm at step {step}")
    picture.margin_text(FRAME.top, "alarm", "series3")
    return picture


def main() -> None:
    """Draw it from the host's decisions, which equal the device's."""
    with np.load(HERE / "story.npz") as file:
        picture = chart(dict(file), story.on_host(file["inputs"]))
    (HERE / "story.svg").write_text(standalone_svg(picture), "utf-8")


if __name__ == "__main__":
    main()
