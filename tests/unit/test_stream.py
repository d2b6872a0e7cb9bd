# SPDX-License-Identifier: Apache-2.0
import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.errors import InputError
from tcuq.stream import MAX_FEATURES

HALVES = [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]
NAN, INF = float("nan"), float("inf")

BAD_POSTERIORS: dict[str, tuple[Any, str]] = {
    "NaN": ([[NAN, 1.0]], "finite and within ±1e+09, got nan at step 0, column 0"),
    "inf": ([[0.5, 0.5], [0.0, INF]], "finite and within ±1e+09, got inf at step 1, column 1"),
    "-inf": ([[-INF, 1.0]], "finite and within ±1e+09, got -inf at step 0, column 0"),
    "huge": ([[2e9, 0.0]], "finite and within ±1e+09, got 2000000000.0 at step 0, column 0"),
    "negative": ([[0.5, 0.5], [1.25, -0.25]], "of step 1 must not be negative, got -0.25"),
    "unnormalised": ([[0.5, 0.5], [0.9, 0.2]], "of step 1 must sum to 1 within 0.02, got 1.1"),
    "0-d": (0.5, "the shape (steps, classes), got ()"),
    "3-d": ([[[0.5, 0.5]]], "the shape (steps, classes), got (1, 1, 2)"),
    "0 classes": (np.empty((3, 0)), "2 to 1000 classes, got 0"),
    "1001 classes": (np.full((1, 1001), 1 / 1001), "2 to 1000 classes, got 1001"),
    "empty list": ([], "the shape (steps, classes), got (0,)"),
    "ragged": ([[0.5, 0.5], [1.0]], "must be a rectangular array of numbers"),
    "strings": ([["0.5", "0.5"]], "must be real numbers, got dtype <U3"),
    "complex": ([[0.5 + 0j, 0.5]], "must be real numbers, got dtype complex128"),
    "objects": (np.array([[0.5, 0.5]], object), "must be real numbers, got dtype object"),
    "booleans": ([[True, False]], "must be real numbers, got dtype bool"),
}

BAD_COLUMNS: dict[str, tuple[dict[str, Any], str]] = {
    "label too large": ({"labels": [0, 1, 2]}, "labels must lie in 0..1, or be -1"),
    "label below -2": ({"labels": [0, -3, 1]}, "(out of distribution), got -3 at step 1"),
    "label boolean": ({"labels": [True, False, True]}, "labels must be integers, got dtype bool"),
    "labels short": ({"labels": [0, 1]}, "labels must have the shape (3,), got (2,)"),
    "labels 2-d": ({"labels": [[0], [1], [1]]}, "labels must have the shape (3,), got (3, 1)"),
    "start too late": ({"starts": [0, 3]}, "starts must lie in 0..2, got 0..3"),
    "start negative": ({"starts": [-1]}, "starts must lie in 0..2, got -1..-1"),
    "start float": ({"starts": [1.0]}, "starts must be integers, got dtype float64"),
    "start number": ({"starts": 1}, "starts must have one dimension"),
    "shifted integers": ({"shifted": [0, 1, 1]}, "shifted must be booleans, got dtype int64"),
    "shifted short": ({"shifted": [True]}, "shifted must have the shape (3,), got (1,)"),
    "features short": (
        {"features": [[1.0]]},
        "features must have the shape (3, width), got (1, 1)",
    ),
    "features 1-d": (
        {"features": [1.0, 2.0, 3.0]},
        "features must have the shape (3, width), got (3,)",
    ),
    "features of no width": (
        {"features": np.empty((3, 0))},
        "features must be 1 to 65535 wide, got 0",
    ),
    "features too wide": (
        {"features": np.zeros((3, MAX_FEATURES + 1), np.int8)},
        "features must be 1 to 65535 wide, got 65536",
    ),
    "features NaN": (
        {"features": [[1.0], [1.0], [NAN]]},
        "features must be finite and within ±1e+09, got nan at step 2, column 0",
    ),
    "features huge": (
        {"features": [[1.0, -1.1e9]] * 3},
        "features must be finite and within ±1e+09, got -1100000000.0 at step 0, column 1",
    ),
    "features ragged": (
        {"features": [[1.0], [1.0, 2.0], [1.0]]},
        "features must be a rectangular array of numbers",
    ),
    "features strings": (
        {"features": [["a"], ["b"], ["c"]]},
        "features must be real numbers, got dtype <U1",
    ),
    "labels ragged": ({"labels": [[1], [1, 2]]}, "labels must be a rectangular array"),
    "starts ragged": ({"starts": [[1], [1, 2]]}, "starts must be a rectangular array"),
    "shifted ragged": ({"shifted": [[True], [True, False]]}, "shifted must be a rectangular"),
    "labels one-hot": ({"labels": np.eye(2)[[0, 1, 0]]}, "write  labels.argmax(axis=1)"),
    "labels float": ({"labels": [0.0, 1.0, 0.0]}, "write  labels.astype(int)"),
    "starts 2-d": ({"starts": np.zeros((40, 2), int)}, "starts must have one dimension"),
    "kind wrong": ({"kind": "logit"}, "one of probabilities, logits, outputs, got 'logit'"),
}


def pickle_roundtrip(stream: tcuq.Stream) -> tcuq.Stream:
    """Return the stream after pickling and unpickling."""
    other: tcuq.Stream = pickle.loads(pickle.dumps(stream))  # noqa: S301 - our own
    return other


def refusal(*arguments: Any, **columns: Any) -> str:
    """Return the message of a refused stream."""
    with pytest.raises(InputError) as caught:
        tcuq.Stream(*arguments, **columns)
    return str(caught.value)


@pytest.mark.parametrize("case", BAD_POSTERIORS)
def test_bad_posteriors_are_refused(case: str) -> None:
    """The message is one line with the name, the rule and the value."""
    posteriors, rule = BAD_POSTERIORS[case]
    message = refusal(posteriors)
    assert message.startswith("posteriors ")
    assert rule in message
    assert "\n" not in message


@pytest.mark.parametrize("case", BAD_COLUMNS)
def test_bad_columns_are_refused(case: str) -> None:
    """The message is one line with the name, the rule and the value."""
    columns, message = BAD_COLUMNS[case]
    error = refusal(HALVES, **columns)
    assert message in error
    assert "\n" not in error


def test_no_steps_are_refused() -> None:
    """A stream and a slice of one must have at least one step."""
    assert refusal(np.empty((0, 3))) == "a stream must have at least 1 step, got 0"
    with pytest.raises(InputError, match="at least 1 step, got 3:3 of 3 steps"):
        tcuq.Stream(HALVES)[5:9]


def test_logits_may_be_negative_and_large() -> None:
    """Negative and large logits are accepted with kind="logits"."""
    assert len(tcuq.Stream([[-1e9, 1e9]], kind="logits")) == 1
    assert 'say kind="logits"' in refusal([[-1.0, 1.0]])


@pytest.mark.parametrize("total", [252, 260])
def test_int8_softmax_is_a_probability(total: int) -> None:
    """Sums of an int8 softmax, 252 to 260 of 256, are accepted."""
    assert len(tcuq.Stream([[total / 512, total / 512]])) == 1


def test_starts_ascend_and_hold_0() -> None:
    """Step 0 always begins a recording; others ascend, so that lengths do not pass for starts."""
    assert tcuq.Stream(HALVES, starts=[1, 2]).starts.tolist() == [0, 1, 2]
    assert "starts must ascend, got 2 before 1" in refusal(HALVES, starts=[2, 1])
    assert "starts must ascend, got 1 before 1" in refusal(HALVES, starts=[1, 1])
    assert tcuq.Stream(HALVES).starts.tolist() == tcuq.Stream(HALVES, starts=[]).starts.tolist()
    assert tcuq.Stream(HALVES).starts.tolist() == [0]


def test_recordings_are_streams() -> None:
    """Recordings follow the starts and carry every column; without starts there is one."""
    stream = tcuq.Stream(
        [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]],
        [[1], [2], [3], [4]],
        [0, 1, -1, 0],
        classes=["sit", "walk"],
        starts=[1, 3],
        shifted=[False, True, True, False],
    )
    recordings = stream.recordings()
    assert [len(recording) for recording in recordings] == [1, 2, 1]
    assert all(recording.starts.tolist() == [0] for recording in recordings)
    assert all(recording.class_names == ("sit", "walk") for recording in recordings)
    for name in ("posteriors", "features", "labels", "shifted"):
        joined = np.concatenate([getattr(recording, name) for recording in recordings])
        assert (joined == getattr(stream, name)).all()
    stream = tcuq.Stream(HALVES)
    (only,) = stream.recordings()
    assert only.sha256 == stream.sha256


def test_slices_keep_recordings_apart() -> None:
    """Starts inside a slice move with it; absent columns stay absent."""
    stream = tcuq.Stream([[0.5, 0.5]] * 10, starts=[0, 4, 7], kind="logits")
    piece = stream[3:8]
    assert (len(piece), piece.kind, piece.starts.tolist()) == (5, "logits", [0, 1, 4])
    assert (piece.features, piece.labels, piece.shifted, piece.class_names) == (None,) * 4
    assert stream[4:7].starts.tolist() == [0]


@pytest.mark.parametrize(
    ("at", "steps"),
    [
        (slice(None), range(10)),
        (slice(-3, None), range(7, 10)),
        (slice(None, -8), range(2)),
        (slice(np.int64(2), np.int32(4)), range(2, 4)),
        (slice(5, 99, 1), range(5, 10)),
    ],
)
def test_slices_are_those_of_a_list(at: slice, steps: range) -> None:
    """Negative bounds, open ends, NumPy integers and bounds past the end work as in a list."""
    stream = tcuq.Stream(np.arange(20).reshape(10, 2), kind="logits")
    assert (stream[at].posteriors[:, 0] // 2).tolist() == list(steps)


@pytest.mark.parametrize("at", [3, slice(0, 3, 2), slice(None, None, -1), [0, 1], "a", (0, 1)])
def test_other_indices_are_refused(at: Any) -> None:
    """Only consecutive steps are a stream; the message shows how to write them."""
    with pytest.raises(InputError, match=r"slice of consecutive steps, such as stream\["):
        tcuq.Stream(HALVES)[at]


def test_repr_is_one_short_line(test_stream: tcuq.Stream) -> None:
    """The repr has the sizes, never the values."""
    assert repr(test_stream) == (
        "Stream(1,920 steps, 10 classes, 32 features, 2 recordings, 100% labelled,"
        " 4 health statistics)"
    )
    assert repr(tcuq.Stream(HALVES[:1])) == (
        "Stream(1 step, 2 classes, no features, 1 recording, no labels)"
    )


def test_notebooks_show_a_table() -> None:
    """The table has the kind and the class names, escaped."""
    stream = tcuq.Stream(
        HALVES, [[1]] * 3, [0, 1, -1], classes=["<i>", "b"], shifted=[True, False, False]
    )
    shown = stream._repr_html_()
    for part in ("&lt;i&gt;, b", "probabilities, float64", "66.7%", "33.3%", "1, int64"):
        assert part in shown
    assert "<i>" not in shown
    assert "no labels" in tcuq.Stream(HALVES)._repr_html_()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle_roundtrip])
def test_copies_are_streams(copied: Callable[[tcuq.Stream], tcuq.Stream]) -> None:
    """A pickled or copied stream has the same columns; equality stays identity."""
    stream = tcuq.Stream(HALVES, [[1.0]] * 3, ["b", "a", None], classes=["a", "b"], starts=[2])
    other = copied(stream)
    assert other.sha256 == stream.sha256
    assert other.class_names == ("a", "b")
    assert other != stream
    with pytest.raises(AttributeError):
        other.kind = "logits"  # type: ignore[misc]


@pytest.mark.parametrize(
    "change",
    [
        {"posteriors": [[0.5, 0.5], [0.5, 0.5], [0.4, 0.6]]},
        {"posteriors": np.array(HALVES, np.float32)},
        {"features": [[1.0], [2.0], [4.0]]},
        {"features": None},
        {"labels": [0, 1, 0]},
        {"labels": None},
        {"kind": "logits"},
        {"starts": [1, 2]},
        {"shifted": [True, True, True]},
        {"shifted": None},
    ],
)
def test_hash_depends_on_every_column(change: dict[str, Any]) -> None:
    """A changed value, type, kind or absence changes the hash; the same stream keeps it."""
    columns: dict[str, Any] = {
        "posteriors": HALVES,
        "features": [[1.0], [2.0], [3.0]],
        "labels": [0, 1, 1],
        "starts": [1],
        "shifted": [False, True, True],
    }
    first = tcuq.Stream(**columns).sha256
    assert tcuq.Stream(**columns).sha256 == first
    assert tcuq.Stream(**{**columns, **change}).sha256 != first


def test_distinct_counts_whole_steps() -> None:
    """Two steps are the same when posteriors, features and input health are."""
    rows = [[0.5, 0.5], [0.5, 0.5], [0.4, 0.6]]
    assert tcuq.Stream(rows).distinct == 2
    assert tcuq.Stream(rows, [[1], [2], [1]]).distinct == 3
    assert tcuq.Stream(HALVES, [[1], [1], [1]]).distinct == 1
    assert tcuq.Stream(HALVES, health=[[1], [2], [1]], health_names=["level"]).distinct == 2


@pytest.mark.parametrize("shape", [(3,), (3, 1)])
@pytest.mark.parametrize(
    ("kind", "column", "rows"),
    [
        ("probabilities", np.array([0.0, 0.25, 1.0], np.float32), [[1, 0], [0.75, 0.25], [0, 1]]),
        ("logits", np.array([-3, 0, 7], np.int8), [[0, -3], [0, 0], [0, 7]]),
    ],
)
def test_one_column_becomes_two_classes(
    kind: Any, column: Any, rows: list[list[float]], shape: tuple[int, ...]
) -> None:
    """A single sigmoid p is [1 - p, p], a single logit z is [0, z], in the type it came in."""
    stream = tcuq.Stream(column.reshape(shape), kind=kind, labels=[0, 0, 1], classes=["a", "b"])
    assert stream.posteriors.tolist() == rows
    assert stream.posteriors.dtype == column.dtype


@pytest.mark.parametrize(
    ("column", "rule"),
    [
        ([0.5, 21.5, -3.0], "of one column must lie in 0..1, got 21.5 at step 1"),
        ([[0.5], [-0.125]], "of one column must lie in 0..1, got -0.125 at step 1"),
        ([0.5, NAN], "finite and within ±1e+09, got nan at step 1, column 0"),
    ],
)
def test_values_of_a_regression_are_refused(column: Any, rule: str) -> None:
    """One column outside 0..1 is no probability, and the message suggests what it may be."""
    message = refusal(column, classes=["no", "yes"])
    assert rule in message
    assert "\n" not in message
    if "0..1" in rule:
        assert 'a logit? say kind="logits"; a regressor gives outputs=' in message
    unnamed = refusal(column)
    assert all(way in unnamed for way in ('classes=["no", "yes"]', "outputs="))
