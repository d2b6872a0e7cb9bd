# SPDX-License-Identifier: Apache-2.0
"""ExecuTorch programs, made and run by the library itself."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tcuq.errors import InputError
from tcuq.tap import open_tap, record

pytestmark = pytest.mark.filterwarnings("ignore")  # of the exporter


class Network(nn.Module):
    """A network that returns its logits, and the features that its last layer reads."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
        self.head = nn.Linear(8, 3)

    def forward(self, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and features."""
        features = self.body(values)
        return self.head(features), features


@pytest.fixture(scope="module")
def network() -> Network:
    """A network with fixed weights."""
    torch.manual_seed(0)
    return Network().eval()


def export(module: nn.Module, batch: int, path: Path) -> Path:
    """Write a module as an ExecuTorch program for batches of a fixed size."""
    from executorch.exir import to_edge

    exported = torch.export.export(module, (torch.zeros(batch, 6),))
    path.write_bytes(to_edge(exported).to_executorch().buffer)
    return path


@pytest.fixture(scope="module")
def program(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The network as a program for batches of four."""
    return export(network, 4, tmp_path_factory.mktemp("program") / "model.pte")


def test_a_program_gives_its_modules_outputs(network: Network, program: Path) -> None:
    """Posteriors and features are those of the module, also in a last batch that is short."""
    inputs: Any = np.random.default_rng(1).normal(size=(10, 6)).astype(np.float32)
    stream = record(open_tap(program, kind="logits"), inputs)
    with torch.inference_mode():
        logits, features = network(torch.from_numpy(inputs))
    assert stream.kind == "logits"
    assert np.allclose(stream.posteriors, logits.numpy(), atol=1e-6)
    assert stream.features is not None
    assert np.allclose(stream.features, features.numpy(), atol=1e-6)


def test_outputs_are_named_by_their_numbers(program: Path) -> None:
    """Features can be the posteriors' output; unknown numbers and other shapes are refused."""
    tap = open_tap(program, "0", output="0", kind="logits")
    posteriors, features = tap.run(np.zeros((1, 6)))
    assert features is not None
    assert np.array_equal(posteriors, features)
    with pytest.raises(InputError, match="output must be one of the model's"):
        open_tap(program, output="2")
    with pytest.raises(InputError, match="layer must be one of the model's"):
        open_tap(program, "9")
    with pytest.raises(InputError, match=r"inputs must have the shape \(steps, 6\), got \(2, 5\)"):
        open_tap(program).run(np.zeros((2, 5), np.float32))


def test_a_module_with_logits_alone_has_no_features(network: Network, tmp_path: Path) -> None:
    """A program with one output yields posteriors alone."""

    class Logits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, values: torch.Tensor) -> torch.Tensor:
            logits: torch.Tensor = self.network(values)[0]
            return logits

    tap = open_tap(export(Logits().eval(), 1, tmp_path / "model.pte"), kind="logits")
    assert (tap.layer, tap.batch) == (None, 1)
    assert tap.run(np.zeros((1, 6), np.float32))[1] is None


def test_a_program_of_a_single_number_is_refused(tmp_path: Path) -> None:
    """An input without axes has no steps."""
    from executorch.exir import to_edge

    exported = torch.export.export(nn.ReLU(), (torch.tensor(1.0),))
    path = tmp_path / "scalar.pte"
    path.write_bytes(to_edge(exported).to_executorch().buffer)
    with pytest.raises(InputError, match=r"scalar\.pte: the input must be an array of numbers"):
        open_tap(path)


@pytest.mark.parametrize("size", [0, 40, 200])
def test_a_damaged_program_is_refused(program: Path, size: int, tmp_path: Path) -> None:
    """A cut file ends in one line that names it."""
    damaged = tmp_path / "cut.pte"
    damaged.write_bytes(program.read_bytes()[:size])
    with pytest.raises(InputError, match=r"cut\.pte: (not a program|a model has)"):
        open_tap(damaged)
