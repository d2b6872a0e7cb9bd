# SPDX-License-Identifier: Apache-2.0
"""Sums of a replay's results by profile, as text and as an HTML page without scripts."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from tcuq.charts import histogram, stylesheet
from tcuq.charts.markup import element, html, table
from tcuq.profile import Profile
from tcuq.replay.function import BINS, COUNTS

CHANNELS = {
    "risk_alarms": "risk",
    "novelty_alarms": "novelty",
    "divergence_alarms": "divergence",
    "instability_alarms": "instability",
    "health_alarms": "input health",
}
SUMMED = tuple(name for name in COUNTS if name != "first_alarm")
SHOWN = 20
HEADS = (
    "profile", "abstained", "denied", "alarms in a million", "streams alarmed", "wrong",
    "wrong and let through", "risk, 0 to 1",
)  # fmt: skip


class ReplayComparison:
    """Accumulates results in bounded memory.

    Parameters
    ----------
    profiles
        By name; the others are compared with the first.
    damaged
        Rows of the input that could not be read.
    """

    def __init__(
        self, profiles: Mapping[str, Profile], damaged: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        self.names: list[str] = list(profiles)
        self.damaged: list[Mapping[str, Any]] = list(damaged)
        self._hashes = {name: profile.sha256 for name, profile in profiles.items()}
        self._sums = {name: dict.fromkeys((*SUMMED, "streams", "alarmed"), 0) for name in profiles}
        self._bins = {name: np.zeros(BINS, np.int64) for name in profiles}
        self._changed = {name: {"quieter": 0, "louder": 0} for name in self.names[1:]}
        self._apart: list[tuple[float, str, str, dict[str, Any]]] = []

    def take(self, table: Any) -> None:  # noqa: ANN401 - pyarrow has no types
        """Add results; all rows of a stream must be in one table."""
        import pyarrow.compute as pc

        for name, sums in self._sums.items():
            rows = table.filter(pc.equal(table["profile"], name))
            for column in SUMMED:
                sums[column] += int(np.sum(rows[column].to_numpy(), dtype=np.int64))
            sums["streams"] += rows.num_rows
            sums["alarmed"] += int((rows["alarms"].to_numpy() > 0).sum())
            bins = rows["risk_histogram"].combine_chunks().flatten().to_numpy()
            self._bins[name] += bins.reshape(-1, BINS).sum(axis=0)
        self._take_changes(table)

    def _take_changes(self, table: Any) -> None:  # noqa: ANN401
        """Count streams whose alarms differ from the first profile's; note the largest changes."""
        count = len(self.names)
        streams = table["stream"].to_pylist()[::count]
        columns = {
            c: table[c].to_numpy().reshape(-1, count) for c in ("steps", "abstained", "alarms")
        }
        steps = np.maximum(columns["steps"][:, 0], 1)
        for number, name in enumerate(self.names[1:], start=1):
            before, after = columns["alarms"][:, 0] > 0, columns["alarms"][:, number] > 0
            self._changed[name]["quieter"] += int((before & ~after).sum())
            self._changed[name]["louder"] += int((~before & after).sum())
            moved = (columns["abstained"][:, number] - columns["abstained"][:, 0]) / steps
            distance = np.abs(moved) + (before != after)
            for row in np.argsort(-distance, kind="stable")[:SHOWN].tolist():
                if distance[row] > 0:
                    fact = {
                        "alarms": [int(columns["alarms"][row, i]) for i in (0, number)],
                        "abstained": [int(columns["abstained"][row, i]) for i in (0, number)],
                    }
                    entry = (float(distance[row]), streams[row], name, fact)
                    self._apart = heapq.nlargest(SHOWN, [*self._apart, entry], key=lambda e: e[:3])

    def facts(self) -> dict[str, Any]:
        """Return all results as JSON values."""
        return {
            "profiles": {
                name: {"sha256": self._hashes[name], **sums, **self.shares(name)}
                | {"risk_histogram": self._bins[name].tolist(), **self._changed.get(name, {})}
                for name, sums in self._sums.items()
            },
            "apart": [
                {"stream": stream, "profile": name, **fact} for _, stream, name, fact in self._apart
            ],
            "damaged": self.damaged,
        }

    def shares(self, name: str) -> dict[str, float | None]:
        """Return a profile's rates per step; None where they need labels and there are none."""
        sums = self._sums[name]
        steps, labelled = max(sums["steps"], 1), sums["labelled"]
        let_through = sums["wrong"] - sums["wrong_abstained"]
        return {
            "abstained_share": sums["abstained"] / steps,
            "denied_share": sums["denied"] / steps,
            "exceeded_share": sums["exceeded"] / steps,
            "alarms_per_million": 1e6 * sums["alarms"] / steps,
            "wrong_share": sums["wrong"] / labelled if labelled else None,
            "wrong_let_through_share": let_through / labelled if labelled else None,
        }

    def lines(self) -> Iterator[str]:
        """Yield the comparison as text."""
        facts = self.facts()
        first = facts["profiles"][self.names[0]]
        yield f"{first['streams']:,} streams, {first['steps']:,} steps"
        width = max(len("profile"), *map(len, self.names))
        heads = ("abstained", "denied", "alarms/M", "alarmed", "wrong", "let through")
        yield f"{'profile':{width}} " + " ".join(f"{head:>11}" for head in heads)
        for name in self.names:
            yield f"{name:{width}} " + " ".join(f"{c:>11}" for c in self.cells(name))
        for name in self.names:
            yield f"{name}: {self.causes(name)}"
        for name, moved in self._changed.items():
            yield (
                f"{name}: {moved['louder']:,} streams alarm that did not under {self.names[0]},"
                f" {moved['quieter']:,} no longer do"
            )
        for one in self.damaged:
            last = one["first_row"] + one["rows"] - 1
            yield f"damaged: {one['file']} rows {one['first_row']}..{last}: {one['reason']}"

    def causes(self, name: str) -> str:
        """Return how many alarms of a profile each channel caused, in words."""
        counts = {word: self._sums[name][column] for column, word in CHANNELS.items()}
        listed = ", ".join(f"{count:,} by {word}" for word, count in counts.items() if count)
        return f"alarms {listed}" if listed else "no alarms"

    def cells(self, name: str) -> list[str]:
        """Return the cells of a profile's line."""
        shares, sums = self.shares(name), self._sums[name]
        percent = [
            "" if shares[c] is None else f"{100 * shares[c]:.2f} %"  # type: ignore[operator]
            for c in ("abstained_share", "denied_share", "wrong_share", "wrong_let_through_share")
        ]
        alarms = [f"{shares['alarms_per_million']:.2f}", f"{sums['alarmed']:,}"]
        return [*percent[:2], *alarms, *percent[2:]]


def page(comparison: ReplayComparison, title: str) -> str:
    """Make the page: profiles side by side, streams they differ on most, files not read."""
    facts = comparison.facts()
    first = facts["profiles"][comparison.names[0]]
    style = resources.files("tcuq.reports").joinpath("page.css").read_text("utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", stylesheet() + style),
    )
    main = element(
        "main",
        element("h1", title),
        element("p", f"{first['streams']:,} streams, {first['steps']:,} steps", class_="lead"),
        table(HEADS, (_row(comparison, name, facts) for name in comparison.names)),
        *_changes(comparison, facts),
        *_damage(facts),
    )
    return "<!DOCTYPE html>\n" + html(element("html", head, element("body", main), lang="en"))


def _row(
    comparison: ReplayComparison, name: str, facts: dict[str, object]
) -> list[ET.Element | str]:
    profiles: dict[str, dict[str, list[int]]] = facts["profiles"]  # type: ignore[assignment]
    counts = profiles[name]["risk_histogram"]
    return [name, *comparison.cells(name), histogram(counts, "Steps by risk, 0 to 1", "steps")]


def _changes(
    comparison: ReplayComparison, facts: dict[str, list[dict[str, object]]]
) -> Iterable[ET.Element]:
    for name in comparison.names:
        yield element("p", f"{name}: {comparison.causes(name)}.")
    for name in comparison.names[1:]:
        moved: dict[str, int] = facts["profiles"][name]  # type: ignore[call-overload]
        yield element(
            "p",
            f"{name}: {moved['louder']:,} streams alarm that did not under {comparison.names[0]},"
            f" {moved['quieter']:,} no longer do.",
        )
    if facts["apart"]:
        heads = ("stream", "profile", "alarms, before and after", "abstained, before and after")
        rows = ([str(v) for v in one.values()] for one in facts["apart"])
        yield element("h2", f"Farthest from {comparison.names[0]}")
        yield table(heads, rows)


def _damage(facts: dict[str, list[dict[str, object]]]) -> Iterable[ET.Element]:
    if facts["damaged"]:
        yield element("h2", "Not read")
        heads = ("file", "first row", "rows", "reason")
        yield table(heads, ([str(v) for v in one.values()] for one in facts["damaged"]))
