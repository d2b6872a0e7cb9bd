# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcuq_benchmark import outputs


class Network:
    """Outputs the step's number; optionally fails at a step; records its calls."""

    def __init__(self, breaks_at: int | None = None) -> None:
        self.breaks_at = breaks_at
        self.calls: list[tuple[int, int]] = []

    def __call__(self, begin: int, end: int) -> dict[str, Any]:
        """Return the outputs of steps begin..end-1."""
        self.calls.append((begin, end))
        if self.breaks_at is not None and begin <= self.breaks_at < end:
            raise KeyboardInterrupt
        steps = np.arange(begin, end)
        return {"logits": np.stack([steps, -steps], axis=1), "features": steps[:, None] / 2}


def test_interrupted_run_resumes(tmp_path: Path) -> None:
    """After a stop only the missing parts are computed, and the whole is as if never stopped."""
    with pytest.raises(KeyboardInterrupt):
        outputs.cached("k", 1_000, Network(breaks_at=700), part_steps=300, root=tmp_path)
    network = Network()
    done: list[int] = []
    entry = outputs.cached("k", 1_000, network, part_steps=300, root=tmp_path, report=done.append)
    assert done == [300, 600, 900, 1_000]
    assert network.calls == [(600, 900), (900, 1_000)]
    np.testing.assert_array_equal(entry["logits"][:, 0], np.arange(1_000))
    assert [path.name for path in tmp_path.iterdir()] == ["k.npz"]


def test_finished_entry_is_not_computed_again(tmp_path: Path) -> None:
    """A second call reads the entry and returns the same."""
    first = outputs.cached("k", 10, Network(), root=tmp_path)
    network = Network()
    again = outputs.cached("k", 10, network, root=tmp_path)
    assert network.calls == []
    np.testing.assert_array_equal(first["features"], again["features"])


def test_outputs_of_the_wrong_length_are_refused(tmp_path: Path) -> None:
    """A network that skips steps must not fill the cache."""
    with pytest.raises(ValueError, match="every output must have 10 rows"):
        outputs.cached("k", 10, lambda _a, _b: {"logits": np.zeros((9, 2))}, root=tmp_path)
    assert not list(tmp_path.rglob("*.npz"))


def test_damaged_entry_is_named(tmp_path: Path) -> None:
    """A file that is no archive is not silently computed over."""
    (tmp_path / "k.npz").write_bytes(b"junk")
    with pytest.raises(ValueError, match=r"k\.npz is damaged: delete it"):
        outputs.cached("k", 10, Network(), root=tmp_path)


def test_key_depends_on_everything() -> None:
    """Data, model and settings each change the key; the order of settings does not."""
    keys = {
        outputs.key("a", "b", {"seed": 0, "kind": "iid"}),
        outputs.key("a", "b", {"kind": "iid", "seed": 0}),
        outputs.key("A", "b", {"seed": 0, "kind": "iid"}),
        outputs.key("a", "B", {"seed": 0, "kind": "iid"}),
        outputs.key("a", "b", {"seed": 1, "kind": "iid"}),
    }
    assert len(keys) == 4
