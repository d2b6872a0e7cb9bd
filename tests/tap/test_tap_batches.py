# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from scipy import sparse

from tcuq.errors import InputError
from tcuq.tap.batches import batches

ROWS = np.arange(10.0).reshape(5, 2)

CONTAINERS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "array": (ROWS, np.asarray),
    "list": (ROWS.tolist(), np.asarray),
    "tensor": (torch.tensor(ROWS), np.asarray),
    "DataFrame": (pd.DataFrame(ROWS, index=[9, 7, 5, 3, 1]), pd.DataFrame.to_numpy),
    "Arrow table": (pa.table(pd.DataFrame(ROWS, columns=["a", "b"])), np.asarray),
    "sparse": (sparse.csr_array(ROWS), lambda part: part.toarray()),
    "loader": (iter([ROWS[:1], ROWS[1:]]), np.asarray),
    "pairs": (iter([(ROWS[:1], [1]), (ROWS[1:], [1] * 4)]), np.asarray),
    "dictionary": ({"x": ROWS, "labels": range(5)}, lambda part: part["x"]),
}


@pytest.mark.parametrize("case", CONTAINERS)
def test_rows_keep_order_and_container(case: str) -> None:
    """Cut in any way, the parts are the rows, and a table's part is a table."""
    inputs, rows = CONTAINERS[case]
    parts = list(batches(inputs, 2))
    assert all(batch.steps <= 2 for batch in parts)
    np.testing.assert_array_equal(np.concatenate([rows(batch.inputs) for batch in parts]), ROWS)
    assert sum(batch.steps for batch in parts) == 5
    if case in ("DataFrame", "Arrow table", "sparse", "tensor"):
        assert type(parts[0].inputs) is type(inputs)
    labelled = case in ("pairs", "dictionary")
    assert all((batch.labels is not None) == labelled for batch in parts)


BAD: dict[str, tuple[Any, str]] = {
    "no steps": (np.empty((0, 3)), r"the shape \(steps, \.\.\.\), got \(0, 3\)"),
    "a number": (3.0, r"the shape \(steps, \.\.\.\), got \(\)"),
    "a text": ("rows.csv", r"the shape \(steps, \.\.\.\), got \(\)"),
    "an empty dictionary": ({}, r"the shape \(steps, \.\.\.\), got \(\)"),
    "two lengths": ({"a": ROWS, "b": ROWS[:3]}, r"equally many steps, got {'a': 5, 'b': 3}"),
    "ragged tokens": ({"input_ids": [[1, 2], [1]]}, "input_ids must be a rectangular array"),
    "three members": (iter([(ROWS, ROWS, ROWS)]), r"inputs or \(inputs, labels\), got 3 members"),
}


@pytest.mark.parametrize("case", BAD)
def test_inputs_without_steps_are_refused(case: str) -> None:
    """The message is one line with the rule."""
    inputs, rule = BAD[case]
    with pytest.raises(InputError, match=rule) as caught:
        list(batches(inputs, 2))
    assert "\n" not in str(caught.value)
