# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tcuq
from tcuq.errors import InputError

THIRDS = np.full((4, 3), 1 / 3)
CLASSES = ["walk", "sit", "lie"]
NAMES = ["sit", "walk", "lie", "sit"]

HOLDERS: dict[str, Any] = {
    "list": NAMES,
    "array": np.array(NAMES),
    "objects": np.array(NAMES, object),
    "Arrow": pa.array(NAMES),
    "Arrow dictionary": pa.array(NAMES).dictionary_encode(),
}

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown names": (
        {"labels": ["sit", "swim", "fly", "swim"], "classes": CLASSES},
        "labels must be among classes ['walk', 'sit', 'lie'], got 'swim', 'fly' first at step 1",
    ),
    "no classes": (
        {"labels": NAMES},
        "list them in the order of the posterior's columns, classes=['lie', 'sit', 'walk']",
    ),
    "number among names": (
        {"labels": ["sit", 1, "sit", "sit"], "classes": CLASSES},
        "got 1 first at step 1",
    ),
    "names of two dimensions": (
        {"labels": [["sit"], ["sit"], ["sit"], ["sit"]], "classes": CLASSES},
        "labels must be integers, got dtype <U3",
    ),
    "too few names": ({"labels": NAMES[:3], "classes": CLASSES}, "the shape (4,), got (3,)"),
    "too few classes": ({"classes": CLASSES[:2]}, "classes must be 3 different names"),
    "a class twice": ({"classes": ["walk", "sit", "sit"]}, "classes must be 3 different names"),
    "one text": ({"classes": "abc"}, "classes must be a list of names, got 'abc'"),
    "numbers": ({"classes": [0, 1, 2]}, "classes must be a list of names, got '[0, 1, 2]'"),
    "an empty name": ({"classes": ["walk", "", "lie"]}, "classes must be a list of names"),
    "a number of classes": ({"classes": 3}, "classes must be a list of names, got '3'"),
}


@pytest.mark.parametrize("case", HOLDERS)
def test_names_become_columns(case: str) -> None:
    """A label is the index of its name in the class list, from every container."""
    stream = tcuq.Stream(THIRDS, labels=HOLDERS[case], classes=CLASSES)
    assert np.asarray(stream.labels).tolist() == [1, 0, 2, 1]
    assert stream.class_names == ("walk", "sit", "lie")


@pytest.mark.parametrize(
    "labels",
    [
        ["sit", None, float("nan"), "lie"],
        ("sit", float("nan"), float("nan"), "lie"),
        pa.array(["sit", None, None, "lie"]),
    ],
    ids=["list", "tuple", "Arrow"],
)
def test_missing_names_are_unknown(labels: Any) -> None:
    """None, NaN and NA are unknown labels."""
    stream = tcuq.Stream(THIRDS, labels=labels, classes=CLASSES)
    assert np.asarray(stream.labels).tolist() == [1, -1, -1, 2]
    assert stream.labelled == 0.5


def test_numbers_stay_columns_where_classes_are_named() -> None:
    """Integer labels are columns, with names or without."""
    stream = tcuq.Stream(THIRDS, labels=[2, 0, -1, 1], classes=CLASSES)
    assert np.asarray(stream.labels).tolist() == [2, 0, -1, 1]


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_steps_out_of_distribution_are_labelled_and_shifted(tmp_path: Path, ending: str) -> None:
    """Label -2 is known, marks the step as shifted, and comes back from a file."""
    labels = ["sit", None, tcuq.OUT_OF_DISTRIBUTION, "lie"]
    stream = tcuq.Stream(THIRDS, labels=labels, classes=CLASSES, shifted=[True] + [False] * 3)
    stream.save(tmp_path / f"s{ending}")
    for loaded in (stream, tcuq.Stream.load(tmp_path / f"s{ending}")):
        assert np.asarray(loaded.labels).tolist() == [1, -1, -2, 2]
        assert np.asarray(loaded.shifted).tolist() == [True, False, True, False]
        assert loaded.labelled == 0.75


@pytest.mark.parametrize("case", BAD)
def test_bad_names_are_refused(case: str) -> None:
    """The message is one line that says which name, or which rule, is broken."""
    columns, rule = BAD[case]
    with pytest.raises(InputError) as caught:
        tcuq.Stream(THIRDS, **columns)
    assert rule in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_class_names_come_back_from_a_file(tmp_path: Path, ending: str) -> None:
    """Names are saved beside the columns and do not change the hash."""
    classes = ["gehen", "sitzen", "安静"]
    stream = tcuq.Stream(THIRDS, labels=[0, 1, 2, -1], classes=classes)
    stream.save(tmp_path / f"s{ending}")
    loaded = tcuq.Stream.load(tmp_path / f"s{ending}")
    assert loaded.class_names == tuple(classes)
    assert loaded.sha256 == stream.sha256 == tcuq.Stream(THIRDS, labels=stream.labels).sha256
