# SPDX-License-Identifier: Apache-2.0
"""The streams in the package: their size, attribution and stated accuracies."""

import re
from pathlib import Path

import numpy as np

import tcuq

BOX = Path(tcuq.__file__).parent / "data/keywords"


def test_bundled_streams_fit_in_a_megabyte() -> None:
    """The bundled streams are at most 1 MB in all, with their attribution."""
    assert sum(path.stat().st_size for path in BOX.iterdir()) <= 1_000_000
    assert "MIT licence" in (BOX / "README.md").read_text("utf-8")
    assert "Permission is hereby granted" in (BOX / "LICENSE-AudioMNIST").read_text("utf-8")


def test_accuracies_beside_the_streams_are_true() -> None:
    """The table in the streams' README matches the files."""
    table = (BOX / "README.md").read_text("utf-8")
    rows = re.findall(
        r"^\| (\w+)(?:: [^|]*)? \| (\d+) \| (\d+) \| ([^|]*)\| ([^|]*)\| ([^|]*)\|",
        table,
        re.MULTILINE,
    )
    assert {name for name, *_ in rows} == {path.stem for path in BOX.glob("*.npz")}
    with np.load(BOX / "test.npz") as file:
        right_without = file["posteriors"].argmax(axis=1) == file["labels"]
    for name, recordings, steps, clean, faulted, cost in rows:
        with np.load(BOX / f"{name}.npz") as file:
            labels, shifted = file["labels"], file["shifted"]
            right = file["posteriors"].argmax(axis=1) == labels
            assert (len(file["starts"]), len(labels)) == (int(recordings), int(steps))
        for cell, at in ((clean, ~shifted), (faulted, shifted)):
            known = at & (labels >= 0)
            expected = f"{100 * right[known].mean():.1f} % of {known.sum()}" if known.any() else ""
            assert cell.strip() == expected, name
        if name.startswith("fault_"):
            lost = right_without[shifted].mean() - right[shifted].mean()
            assert cost.strip() == f"{100 * lost:.1f}", name
