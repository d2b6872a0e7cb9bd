# SPDX-License-Identifier: Apache-2.0
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from tcuq.errors import InputError
from tcuq.tap import open_tap, record
from tcuq.tap.torch import TorchTap

Array = NDArray[Any]


class Encoder(nn.Module):
    """A small Transformer encoder with a class token."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(6, 16)
        self.token = nn.Parameter(torch.randn(1, 1, 16))
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(16, 4)

    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        """Logits of 4 classes from (n, 10, 6)."""
        embedded = self.embed(steps)
        tokens = torch.cat([self.token.expand(len(steps), -1, -1), embedded], dim=1)
        made: torch.Tensor = self.head(self.encoder(tokens)[:, 0])
        return made


def small_cnn() -> nn.Sequential:
    """Two convolutions with batch norm and dropout, a pool and a dense layer."""
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.Dropout(0.5),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5),
    )  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> Array:
    """Pictures, channels first."""
    made: Array = np.random.default_rng(5).normal(size=(100, 3, 32, 32)).astype(np.float32)
    return made


def plainly(module: nn.Module, rows: Array) -> Array:
    """What the module itself gives, in the tap's batches."""
    module.eval()
    with torch.no_grad():
        parts = [module(torch.from_numpy(rows[at : at + 64])) for at in range(0, len(rows), 64)]
    made: Array = torch.cat(parts).numpy()
    return made


def test_a_cnn_by_itself(rows: Array) -> None:
    """The module's own logits to the last bit; features are what its last layer is given."""
    module = small_cnn()
    tap = TorchTap(module, kind="logits")
    stream = record(tap, rows)
    assert (stream.width, stream.classes, tap.layer) == (16, 5, "input of 8")
    np.testing.assert_array_equal(stream.posteriors, plainly(module, rows))
    np.testing.assert_array_equal(stream.features, plainly(module[:8], rows))


def test_a_cnn_by_name(rows: Array) -> None:
    """A named layer's output, whatever its shape."""
    module = small_cnn()
    stream = record(open_tap(module, "4", kind="logits"), rows)
    np.testing.assert_array_equal(stream.features, plainly(module[:5], rows).reshape(100, -1))


def test_a_transformer_encoder_with_a_pooled_token(rows: Array) -> None:
    """By itself the class token; by name the whole sequence, of which "first" is that token."""
    torch.manual_seed(11)
    module, series = Encoder(), rows.reshape(100, -1)[:, :60].reshape(100, 10, 6)
    stream = record(open_tap(module, kind="logits"), series)
    assert (stream.width, stream.classes) == (16, 4)
    np.testing.assert_array_equal(stream.posteriors, plainly(module, series))
    assert stream.features is not None
    with torch.no_grad():
        again = module.head(torch.from_numpy(stream.features)).numpy()
    np.testing.assert_allclose(again, stream.posteriors, atol=1e-5)
    named = record(open_tap(module, "encoder", kind="logits"), series, pool="first")
    np.testing.assert_array_equal(named.features, stream.features)
    whole = record(open_tap(module, "encoder", kind="logits"), series)
    mean = record(open_tap(module, "encoder", kind="logits"), series, pool="mean")
    assert (whole.width, mean.width) == (11 * 16, 16)


def test_the_module_is_left_as_it_was(rows: Array) -> None:
    """Training mode comes back part by part, and no hook stays."""
    module = small_cnn().train()
    module[1].eval()
    before = [part.training for part in module.modules()]
    record(TorchTap(module, kind="logits"), rows[:10])
    assert [part.training for part in module.modules()] == before
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())  # noqa: SLF001


def test_kind_is_never_guessed(rows: Array) -> None:
    """A module does not say what it gives: the caller must."""
    with pytest.raises(InputError, match="kind must be said, since the model does not"):
        record(TorchTap(small_cnn()), rows)


def test_a_member_of_the_output(rows: Array) -> None:
    """A tuple is refused until the member is named."""

    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = small_cnn()

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
            return self.inner(x), 0

    with pytest.raises(InputError, match="output must be a tensor, got tuple"):
        record(TorchTap(Pair(), kind="logits"), rows)
    stream = record(TorchTap(Pair(), kind="logits", output=0), rows)
    np.testing.assert_array_equal(stream.posteriors, plainly(small_cnn(), rows))
    with pytest.raises(InputError, match="output 7 is no member"):
        record(TorchTap(Pair(), kind="logits", output=7), rows)


def test_unknown_layer_is_refused() -> None:
    """The message lists submodules that exist."""
    with pytest.raises(InputError, match="layer must be one of the model's, such as"):
        TorchTap(Encoder(), "heads", kind="logits")
