# SPDX-License-Identifier: Apache-2.0
"""The weights in the repository: their index, and that they are found before the cache's."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tcuq_benchmark.data.samples import PARTS, Samples
from tcuq_benchmark.networks import committed, recipes, tasks, weights, zoo
from tcuq_benchmark.networks.__main__ import main

NETWORK = ("gas", "base", 0)
NAME = committed.name_of(*NETWORK)
OPTIONS = ("--task", "gas", "--seeds", "0")


def rows(seed: int) -> Samples:
    """Return rows of noise in place of the gas data."""
    x = np.random.default_rng(seed).random((48, 128)).astype(np.float32)
    return Samples(x, np.arange(48) % 6, np.arange(48), np.arange(48), tuple("abcdef"))


@pytest.fixture
def folder(empty_folders: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder of weights; the cache has one network, trained on noise."""
    parts = {part: rows(seed) for seed, part in enumerate(PARTS)}
    task = replace(tasks.TASKS["gas"], load=partial(dict, parts))
    monkeypatch.setitem(tasks.TASKS, "gas", task)
    monkeypatch.setitem(recipes.BASE, "gas", recipes.Recipe(1, 16, 1e-3))
    monkeypatch.setattr(committed, "FOLDER", empty_folders / "weights")
    zoo.train_network(*NETWORK)
    return committed.FOLDER


def test_every_file_is_in_the_index_and_has_its_hash() -> None:
    """Files and index name the same networks, no array differs, and all are small."""
    index = committed.read_index()
    files = sorted(committed.FOLDER.glob("*.npz"))
    assert [path.stem for path in files] == sorted(index)
    assert list(index) == sorted(index)
    for name in index:
        committed.read(name)
    assert sum(path.stat().st_size for path in files) <= committed.MOST_BYTES


def test_every_network_has_the_recipe_of_today() -> None:
    """No network in the folder was trained by a recipe, or on data, that have changed since."""
    for name, metadata in committed.read_index().items():
        network, _, seed = name.rpartition("-")
        task, _, variant = network.partition("-")
        assert metadata["key"] == zoo.key(task, variant, int(seed))
        assert metadata["command"] == zoo.training_command(task, variant, int(seed))
        recipe = recipes.recipe_of(task, variant)
        assert (metadata["epochs"], metadata["start"]) == (recipe.epochs, recipe.start)


def test_a_network_is_loaded_without_a_cache(folder: Path) -> None:
    """After `keep`, the cache is not needed, and the network is the same."""
    before = zoo.load_network(*NETWORK)
    assert main(["keep", *OPTIONS]) == 0
    assert [path.name for path in sorted(folder.iterdir())] == [f"{NAME}.npz", "weights.json"]
    for path in zoo.path(*NETWORK).parent.iterdir():
        path.unlink()
    assert zoo.load_network(*NETWORK).sha256 == before.sha256


def test_a_network_that_is_not_trained_cannot_be_kept(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the command that trains it."""
    assert main(["keep", "--task", "gas", "--seeds", "7"]) == 1
    assert zoo.training_command("gas", "base", 7) in capsys.readouterr().err
    assert not folder.exists()


def test_weights_of_another_recipe_are_not_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a change of the recipe the network is missing."""
    zoo.keep_network(*NETWORK)
    assert folder.is_dir()
    monkeypatch.setitem(recipes.BASE, "gas", recipes.Recipe(2, 16, 1e-3))
    with pytest.raises(FileNotFoundError, match="train it with"):
        zoo.load_network(*NETWORK)


def test_damaged_weights_in_the_repository_are_refused(folder: Path) -> None:
    """Other arrays than those of the index never reach a network."""
    zoo.keep_network(*NETWORK)
    values, metadata = committed.read(NAME)
    values["head.bias"] += 1
    index = (folder / "weights.json").read_text("utf-8")
    committed.add(NAME, values, metadata | {"sha256": weights.sha256(values)}, "")
    (folder / "weights.json").write_text(index, "utf-8")
    assert json.loads(index)[NAME]["sha256"] == metadata["sha256"]
    with pytest.raises(ValueError, match="must have SHA-256"):
        zoo.load_network(*NETWORK)
