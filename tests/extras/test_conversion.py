# SPDX-License-Identifier: Apache-2.0
"""Streams from DataFrames, Arrow tables, tensors and lists; traces as DataFrames and tables."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

import tcuq
from tcuq.decision import Trace
from tcuq.demo import demo_stream
from tcuq.errors import InputError

ROWS = [[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]]
FRAME = pd.DataFrame(ROWS, columns=["sit", "walk"])
TABLE = pa.table({"sit": [0.75, 0.5, 0.125], "walk": [0.25, 0.5, 0.875]})
GRADED = torch.tensor(ROWS, requires_grad=True)
POSTERIORS: dict[str, Any] = {
    "lists": ROWS,
    "tuples": tuple(map(tuple, ROWS)),
    "DataFrame": FRAME,
    "DataFrame of nullable columns": FRAME.astype("Float64"),
    "DataFrame of Arrow columns": FRAME.astype("double[pyarrow]"),
    "DataFrame of two types": FRAME.astype({"sit": "float32", "walk": "Float64"}),
    "Series of lists": pd.Series(ROWS),
    "Series of arrays": pd.Series([np.array(row) for row in ROWS]),
    "Arrow table": TABLE,
    "Arrow batch": TABLE.to_batches()[0],
    "Arrow column of lists": pa.chunked_array([ROWS]),
    "Arrow column of fixed lists": pa.array(ROWS, pa.list_(pa.float64(), 2)),
    "tensor": torch.tensor(ROWS),
    "tensor with a gradient": GRADED,
    "tensor in bfloat16": torch.tensor(ROWS, dtype=torch.bfloat16),
    "list of tensors": [torch.tensor(row) for row in ROWS],
    "list of tensors with a gradient": list(GRADED),
}
LABELS: dict[str, Any] = {
    "Series": pd.Series([0, 1, 1]),
    "Series with an index of its own": pd.Series([0, 1, 1], index=[7, 8, 9]),
    "nullable Series": pd.Series([0, 1, 1], dtype="Int64"),
    "Arrow column": pa.chunked_array([[0, 1], [1]]),
    "tensor": torch.tensor([0, 1, 1]),
    "range": range(-1, 2),
}
MIXED: dict[str, tuple[Any, str]] = {
    "text": (FRAME.assign(name="x"), "columns of numbers only, got 'name' (object)"),
    "times": (
        FRAME.assign(time=pd.Timestamp("2026-01-01")),
        "columns of numbers only, got 'time' (datetime64",
    ),
    "booleans": (FRAME.assign(worn=True), "columns of numbers only, got 'worn' (bool)"),
    "many": (FRAME.assign(**dict.fromkeys("abcdefg", "x")), "'e' (object) and 2 more: select"),
    "Arrow": (
        TABLE.append_column("name", pa.array(["x"] * 3)),
        "columns of numbers only, got 'name' (object)",
    ),
    "missing": (FRAME.mask(FRAME > 0.8), "finite and within ±1e+09, got nan at step 2, column 1"),
    "missing, nullable": (
        FRAME.mask(FRAME > 0.8).astype("Float64"),
        "finite and within ±1e+09, got nan at step 2, column 1",
    ),
    "dictionary": ({"a": [1.0]}, "must be real numbers, got dtype object"),
    "lists of two lengths": (pd.Series([[0.5, 0.5], [1.0]]), "a rectangular array of numbers"),
    "tensors of two lengths": ([torch.ones(2), torch.ones(3)], "a rectangular array of numbers"),
}
NAMES = ["sit", "walk", "lie", "sit"]
CLASSES = ["walk", "sit", "lie"]
THIRDS = np.full((4, 3), 1 / 3)


@pytest.mark.parametrize("case", POSTERIORS)
@pytest.mark.parametrize("column", ["posteriors", "features"])
def test_columns_of_numbers(case: str, column: str) -> None:
    """Posteriors and features are the same numbers from every container."""
    columns: dict[str, Any] = {"posteriors": ROWS, "features": ROWS, column: POSTERIORS[case]}
    stream = tcuq.Stream(**columns)
    assert getattr(stream, column).tolist() == ROWS


@pytest.mark.parametrize("case", LABELS)
def test_columns_of_labels(case: str) -> None:
    """Labels are the same integers from every container."""
    labels = tcuq.Stream(FRAME, labels=LABELS[case]).labels
    assert labels is not None
    assert labels.tolist() == ([-1, 0, 1] if case == "range" else [0, 1, 1])


@pytest.mark.parametrize("case", MIXED)
def test_tables_without_numbers_are_refused(case: str) -> None:
    """The message is one line that names the columns to leave out."""
    values, rule = MIXED[case]
    with pytest.raises(InputError) as caught:
        tcuq.Stream(values)
    assert str(caught.value).startswith("posteriors ")
    assert rule in str(caught.value)
    assert "\n" not in str(caught.value)


def test_monitor_accepts_the_same_containers(
    profile: tcuq.Profile, test_stream: tcuq.Stream
) -> None:
    """A run over DataFrames and tensors is the run over arrays."""
    rows, features = test_stream.posteriors[:50], test_stream.features
    assert features is not None
    plain = tcuq.Monitor(profile).run(rows, features[:50])
    trace = tcuq.Monitor(profile).run(pd.DataFrame(rows), torch.tensor(features[:50]))
    assert trace.outcome.tolist() == plain.outcome.tolist()


@pytest.fixture(scope="module")
def trace(profile: tcuq.Profile) -> Trace:
    """Run the monitor over the demo's failing sensor."""
    return tcuq.Monitor(profile).run(demo_stream("fault_clipping"))


@pytest.mark.parametrize("dtype", [None, "category", "string"])
def test_names_in_a_series_become_columns(dtype: str | None) -> None:
    """A label is the index of its name in the class list; a missing name is unknown."""
    names = [*NAMES[:3], None]
    stream = tcuq.Stream(THIRDS, labels=pd.Series(names, dtype=dtype), classes=CLASSES)
    assert np.asarray(stream.labels).tolist() == [1, 0, 2, -1]


def test_alarms_of_a_data_frame_are_words(trace: Trace) -> None:
    """Each flag has its name, and one since boot says so."""
    alarm = np.array([1, 0, 16, 2 | 128], np.uint8)
    columns = {n: np.zeros(4, getattr(trace, n).dtype) for n in Trace.__slots__}
    named = Trace(**columns | {"alarm": alarm}, health_names=("level", "roughness"))
    words = [str(tcuq.AlarmFlag(int(flag))) for flag in alarm]
    assert named.to_pandas().alarm.tolist() == words


def test_as_a_data_frame(trace: Trace) -> None:
    """One row per step, with names for outcomes and alarms."""
    frame = trace.to_pandas()
    assert frame.index.name == "step"
    assert list(frame.columns) == list(Trace.__slots__)
    assert frame.risk.to_numpy().tolist() == trace.risk.tolist()
    counts = dict(zip(("accept", "abstain", "denied"), np.bincount(trace.outcome), strict=True))
    assert frame.outcome.value_counts().to_dict() == counts
    assert frame.index[frame.alarm != "none"].tolist() == list(trace.alarms)


def test_as_an_arrow_table(trace: Trace) -> None:
    """The same columns and names as the data frame, and the step."""
    table = trace.to_arrow()
    assert table.column_names == ["step", *Trace.__slots__]
    frame = trace.to_pandas()
    for name in Trace.__slots__:
        assert table[name].to_pylist() == frame[name].tolist()
