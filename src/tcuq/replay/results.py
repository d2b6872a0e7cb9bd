# SPDX-License-Identifier: Apache-2.0
"""Results of a replay: one row of counts per stream and profile, and the monitor's last state."""

from typing import Any

# In the engine's order (src/engine/replay.c); a histogram of 16 bins of risk follows.
COUNTS = (
    "steps", "exceeded", "abstained", "denied", "alarms",
    "risk_alarms", "novelty_alarms", "divergence_alarms", "instability_alarms", "health_alarms",
    "first_alarm",
    "labelled", "labelled_abstained", "wrong", "wrong_abstained",
)  # fmt: skip
BINS = 16
WIDTH = len(COUNTS) + BINS


def schema_of(*, decisions: bool) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return the schema of results; `first_alarm` is null without one.

    Evidence is of the running epoch and of the last closed one, null before one has closed.
    """
    import pyarrow as pa

    fields = [("stream", pa.string()), ("profile", pa.string())]
    fields += [(name, pa.int64()) for name in COUNTS]
    fields += [
        ("risk_histogram", pa.list_(pa.int64())),
        ("epoch", pa.int64()),
        ("evidence_bits", pa.float64()),
        ("closed_evidence_bits", pa.float64()),
        ("snapshot", pa.binary()),
    ]
    return pa.schema(fields + ([("decisions", pa.binary())] if decisions else []))


class Rows:
    """Collects finished rows into a batch."""

    def __init__(self, *, decisions: bool) -> None:
        self._schema = schema_of(decisions=decisions)
        self._columns: dict[str, list[Any]] = {name: [] for name in self._schema.names}

    def __len__(self) -> int:
        return len(self._columns["stream"])

    def add(self, stream: str, profile: str, counts: list[int], **more: object) -> None:
        """Append a stream's row under a profile."""
        row: dict[str, Any] = dict(zip(COUNTS, counts, strict=False))
        row["first_alarm"] = row["first_alarm"] - 1 if row["first_alarm"] else None
        row |= {"stream": stream, "profile": profile, "risk_histogram": counts[len(COUNTS) :]}
        for name, column in self._columns.items():
            column.append(row[name] if name in row else more[name])

    def batch(self) -> Any:  # noqa: ANN401
        """Return the collected rows as a batch and clear them."""
        import pyarrow as pa

        batch = pa.RecordBatch.from_pydict(self._columns, self._schema)
        self._columns = {name: [] for name in self._columns}
        return batch
