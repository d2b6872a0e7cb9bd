# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tcuq_benchmark.data.samples import PARTS, Samples
from tcuq_benchmark.networks import recipes, tasks, training, variants, weights, zoo
from tcuq_benchmark.networks.__main__ import main

Array = NDArray[Any]
SHAPES = {
    "mnist": (28, 28), "fashion_mnist": (28, 28), "cifar10": (32, 32, 3), "speech": (16_000,),
    "hapt": (128, 6), "watch": (128, 6), "gas": (128,), "tinyimagenet": (32, 32, 3),
    "digits": (8, 8), "fsdd": (16_000,), "bearings": (256, 1),
}  # fmt: skip
N = 24
OUTPUTS: dict[str, dict[str, tuple[int, ...]]] = {
    "base": {}, "assisted": {}, "wide": {},
    "exits": {"heads": (N, 1, 6)}, "exits-light": {"heads": (N, 1, 6)},
    "dropout": {"passes": (N, 10, 6)}, "hydra": {"heads": (N, 3, 6)}, "postnet": {"alpha": (N, 6)},
    "assisted-k3": {},
}  # fmt: skip


def synthetic(task: str, n: int, seed: int) -> Samples:
    """Return noise with the task's type and shape, a little brighter for larger labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, tasks.TASKS[task].architecture.classes, n)
    level = y.reshape(-1, *(1 for _ in SHAPES[task]))
    noise = rng.random((n, *SHAPES[task])) * 100 + 10 * (level % 10)
    kind = {"speech": "i2", "hapt": "f4", "watch": "f4", "gas": "f4", "digits": "f4"}
    kind |= {"fsdd": "i2", "bearings": "f4"}
    x = noise.astype(kind.get(task, "u1"))
    return Samples(x, y, np.arange(n), np.arange(n), tuple("0123456789"))


@pytest.fixture(autouse=True)
def small(empty_folders: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield an empty cache, a few synthetic samples per task, two epochs, three teachers."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for name, task in tasks.TASKS.items():
        parts = {part: synthetic(name, 48, seed) for seed, part in enumerate(PARTS)}
        monkeypatch.setitem(tasks.TASKS, name, replace(task, load=partial(dict, parts)))
        quick = replace(recipes.BASE[name], epochs=2, batch=16, precision="float32")
        monkeypatch.setitem(recipes.BASE, name, quick)
    monkeypatch.setattr(recipes, "TEACHERS", (0, 1, 2))
    variants.architecture.cache_clear()
    yield empty_folders / "cache" / "networks"
    torch.set_num_threads(threads)


@pytest.mark.parametrize("variant", OUTPUTS)
def test_each_variant_has_its_outputs(variant: str) -> None:
    """Shapes and types of every output; the same samples and seed give the same values."""
    if variant == "hydra":
        for seed in range(3):
            zoo.load_network("gas", "base", seed, train=True)
    network = zoo.load_network("gas", variant, 0, train=True)
    x = synthetic("gas", N, 9).x
    outputs, again = network.run(x, seed=3), network.run(x, seed=3)
    expected: dict[str, tuple[int, ...]] = {
        "logits": (N, 6),
        "features": (N, 32),
        "early": (N, outputs["early"].shape[1]),
    }
    assert {name: values.shape for name, values in outputs.items()} == expected | OUTPUTS[variant]
    for name, values in outputs.items():
        assert values.dtype == np.float32
        assert np.isfinite(values).all()
        np.testing.assert_array_equal(values, again[name])


@pytest.mark.parametrize("task", zoo.TASKS)
def test_every_task_takes_raw_samples(task: str) -> None:
    """Raw samples of the loader's type go in; logits of the task's classes come out."""
    network = zoo.load_network(task, "base", 0, train=True)
    shape = tasks.TASKS[task].architecture
    outputs = network.run(synthetic(task, 5, 9).x)
    assert outputs["logits"].shape == (5, shape.classes)
    assert outputs["features"].shape == (5, shape.widths[-1])
    assert outputs["early"].shape == (5, shape.widths[shape.middle])


def test_dropout_passes_differ_and_follow_the_seed() -> None:
    """Another seed gives other passes; the deterministic pass stays."""
    zoo.load_network("mnist", "base", 0, train=True)
    network = zoo.load_network("mnist", "dropout", 0, train=True)
    x = synthetic("mnist", 8, 9).x
    first, second = network.run(x, seed=0), network.run(x, seed=1)
    assert not np.array_equal(first["passes"], second["passes"])
    assert np.ptp(first["passes"], axis=1).max() > 0
    np.testing.assert_array_equal(first["logits"], second["logits"])


def test_an_interrupted_training_ends_in_the_same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after one epoch and called again, it gives the uninterrupted weights, bit for bit."""
    whole = zoo.load_network("cifar10", "base", 0, train=True).sha256
    at = zoo.path("cifar10", "base", 0)
    at.with_suffix(".json").unlink()
    at.unlink()

    def stop(*_: object) -> float:
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(zoo, "accuracy", stop)  # the report after the first epoch asks for it
        with pytest.raises(KeyboardInterrupt):
            zoo.train_network("cifar10", "base", 0)
    assert at.with_suffix(".checkpoint").exists()
    assert zoo.load_network("cifar10", "base", 0, train=True).sha256 == whole
    assert not at.with_suffix(".checkpoint").exists()


def test_a_damaged_checkpoint_is_refused(small: Path) -> None:
    """A damaged checkpoint stops the training with an error that says what to do."""
    at = zoo.path("gas", "base", 0).with_suffix(".checkpoint")
    small.mkdir(parents=True)
    at.write_bytes(b"no checkpoint")
    with pytest.raises(ValueError, match="damaged: delete it and train again"):
        zoo.train_network("gas", "base", 0)


def test_damaged_weights_are_refused() -> None:
    """A flipped bit in the file, or other weights under its name, never reach a network."""
    network = zoo.load_network("gas", "base", 0, train=True)
    at = zoo.path("gas", "base", 0)
    content = bytearray(at.read_bytes())
    content[len(content) // 2] ^= 1
    at.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        zoo.load_network("gas", "base", 0)
    values = weights.of(network.network)
    values["head.bias"] += 1
    with at.open("wb") as file:
        np.savez(file, allow_pickle=False, **values)
    with pytest.raises(ValueError, match="must have SHA-256"):
        zoo.load_network("gas", "base", 0)


def test_missing_weights_name_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Without `train` the error names the training command, and it works as written."""
    with pytest.raises(FileNotFoundError) as error:
        zoo.load_network("gas", "assisted", 4)
    _, _, command = str(error.value).partition("python -m tcuq_benchmark.networks ")
    assert main(command.split()) == 0
    assert "epoch 2/2" in capsys.readouterr().err
    assert zoo.load_network("gas", "assisted", 4).seed == 4
    assert main(["list", "--task", "gas", "--variant", "base", "assisted", "--seeds", "4"]) == 0
    assert "not trained" in capsys.readouterr().out


def test_the_hash_follows_recipe_seed_data_and_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of weights changes with anything that they depend on."""
    variants_and_seeds = [("base", 0), ("base", 1), ("assisted", 0), ("exits", 0), ("hydra", 0)]
    before = [zoo.key("cifar10", *one) for one in variants_and_seeds]
    assert len(set(before)) == len(before)
    changed = replace(recipes.BASE["cifar10"], learning_rate=0.5)
    monkeypatch.setitem(recipes.BASE, "cifar10", changed)
    after = [zoo.key("cifar10", *one) for one in variants_and_seeds]
    assert not set(before) & set(after)


def test_a_variant_of_a_few_epochs_starts_from_its_base() -> None:
    """Only networks of other shapes start fresh, and those train for as long as the base."""
    for task, epochs in recipes.FURTHER_EPOCHS.items():
        for variant in ("assisted", "assisted-k4", "exits", "dropout", "hydra", "postnet"):
            recipe = recipes.recipe_of(task, variant)
            assert (recipe.start, recipe.epochs) == ("base", epochs)
        for variant in ("base", "wide"):
            recipe = recipes.recipe_of(task, variant)
            assert (recipe.start, recipe.epochs) == ("", recipes.BASE[task].epochs)


def test_parameters_leave_out_what_inference_drops() -> None:
    """Assistance costs nothing at inference; wide costs at most what early exits cost."""
    for task in zoo.TASKS:
        counts = {
            variant: variants.count(task, variant, variants.architecture(task, variant))
            for variant in ("base", "assisted", "exits", "wide")
        }
        assert counts["base"] == counts["assisted"] < counts["wide"] <= counts["exits"]


def test_odin_makes_inputs_more_certain() -> None:
    """A small step along the gradient raises the largest posterior."""
    network = zoo.load_network("gas", "base", 0, train=True)
    x = network.prepared(synthetic("gas", N, 9).x)
    plain, moved = network.odin(x, 0.0, 2.0), network.odin(x, 0.01, 2.0)
    assert plain.shape == (N,)
    assert (moved > plain).mean() > 0.9


def test_unknown_names_are_refused() -> None:
    """A task or variant that does not exist is named with those that do."""
    with pytest.raises(ValueError, match="task must be one of mnist"):
        recipes.recipe_of("nothing", "base")
    for name in ("nothing", "assisted-k11", "assisted-k0"):
        with pytest.raises(ValueError, match="variant must be one of base"):
            recipes.recipe_of("gas", name)


def test_the_rate_rises_and_falls_once() -> None:
    """The learning rate peaks at a quarter of the training and ends at zero."""
    rates = [training.rate_at(share) for share in np.linspace(0, 1, 101)]
    assert int(np.argmax(rates)) == 25
    assert rates[25] == pytest.approx(1)
    assert rates[-1] == pytest.approx(0, abs=1e-9)
