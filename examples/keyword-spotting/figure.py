# SPDX-License-Identifier: Apache-2.0
"""Draw story.svg: risk, share of accepted steps and alarms over the story."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import story

HERE = Path(__file__).resolve().parent
WIDTH, HEIGHT, TOP, LEFT, BLOCK = 860, 180, 40, 40, 32  # pixels; steps
RISK, ACCEPTED, ALARM = "#b5482a", "#2a6fb5", "#000000"


def svg(arrays: dict[str, NDArray[Any]], table: story.Table) -> str:
    """Return the figure, with means over blocks of 32 steps."""
    across, whole = (WIDTH - LEFT) / len(table), len(table) // BLOCK * BLOCK
    label, risk, outcome, alarm = (
        table[:, story.COLUMNS.index(n)] for n in ("label", "risk", "outcome", "alarm")
    )
    columns = {
        RISK: ("risk", risk / story.RISK_LEVELS),
        ACCEPTED: ("accepted", outcome == 0),
        "#4a8f3c": ("right", label == arrays["labels"]),
    }
    parts, begin = [], 0
    for number, (name, steps) in enumerate(zip(arrays["chapters"], arrays["lengths"], strict=True)):
        x, wide = LEFT + begin * across, steps * across
        shade = "#f2f2ee" if number % 2 else "#e4e4de"
        parts.append(
            f'<rect x="{x:.1f}" y="{TOP}" width="{wide:.1f}" height="{HEIGHT}" fill="{shade}"/>'
        )
        parts.append(
            f'<text x="{x + wide / 2:.1f}" y="{TOP - 18}" text-anchor="middle">{name}</text>'
        )
        begin += steps
    for at, (colour, (name, values)) in enumerate(columns.items()):
        means = values[:whole].reshape(-1, BLOCK).mean(axis=1)
        xs = LEFT + (np.arange(len(means)) + 0.5) * BLOCK * across
        points = " ".join(
            f"{x:.1f},{TOP + HEIGHT * (1 - y):.1f}" for x, y in zip(xs, means, strict=True)
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
        )
        y = TOP + HEIGHT + 20
        parts.append(f'<text x="{LEFT + 90 * at}" y="{y}" fill="{colour}">— {name}</text>')
    for step in np.flatnonzero(alarm):
        x = LEFT + step * across
        parts.append(f'<path d="M{x:.1f} {TOP} l-3 -8 h6 z" fill="{ALARM}"/>')
    parts.append(f'<text x="{LEFT + 270}" y="{TOP + HEIGHT + 20}">▼ alarm</text>')
    for y, text in ((TOP, "1"), (TOP + HEIGHT, "0")):
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{text}</text>')
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 10} {TOP + HEIGHT + 30}"'
        ' font-family="sans-serif" font-size="12">'
    )
    paper = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join([head, paper, *parts, "</svg>"]) + "\n"


def main() -> None:
    """Draw it from the host's decisions, which equal the device's."""
    with np.load(HERE / "story.npz") as file:
        figure = svg(dict(file), story.on_host(file["inputs"]))
    (HERE / "story.svg").write_text(figure, "utf-8")


if __name__ == "__main__":
    main()
