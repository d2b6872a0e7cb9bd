# SPDX-License-Identifier: Apache-2.0
"""Sums of a replay's results by profile, and the streams on which profiles differ."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

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
