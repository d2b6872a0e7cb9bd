# SPDX-License-Identifier: Apache-2.0
"""Labels from DataFrames, and traces as DataFrames and Arrow tables."""

import numpy as np
import pandas as pd
import pytest

import tcuq
from tcuq.decision import Trace
from tcuq.demo import demo_stream

NAMES = ["sit", "walk", "lie", "sit"]
CLASSES = ["walk", "sit", "lie"]
THIRDS = np.full((4, 3), 1 / 3)


@pytest.fixture(scope="module")
def trace(profile: tcuq.Profile) -> Trace:
    """Run the monitor over the demo's failing sensor."""
    return tcuq.Monitor(profile).run(demo_stream("fault_clipping"))


@pytest.mark.parametrize("dtype", [None, "category", "string"])
def test_names_in_a_series_become_columns(dtype: str | None) -> None:
    """A label is the index of its name in the class list; a missing name is unknown."""
    names = [*NAMES[:3], None]
    stream = tcuq.Stream(THIRDS, labels=pd.Series(names, dtype=dtype), classes=CLASSES)
    assert stream.labels is not None
    assert stream.labels.tolist() == [1, 0, 2, -1]


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
