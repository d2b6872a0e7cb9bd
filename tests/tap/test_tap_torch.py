# SPDX-License-Identifier: Apache-2.0
"""PyTorch modules and Hugging Face models, with loaders and tokenizers' dictionaries."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tcuq.errors import InputError
from tcuq.tap import open_tap, record
from tcuq.tap.torch import TorchTap

Array = NDArray[Any]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from transformers import BatchEncoding, BertConfig, BertForSequenceClassification
SENTENCES, TOKENS = 30, 12
SIZES: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


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
        logits: torch.Tensor = self.head(self.encoder(tokens)[:, 0])
        return logits


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
    array: Array = np.random.default_rng(5).normal(size=(100, 3, 32, 32)).astype(np.float32)
    return array


def plainly(module: nn.Module, rows: Array) -> Array:
    """What the module itself gives, in the tap's batches."""
    module.eval()
    with torch.no_grad():
        parts = [module(torch.from_numpy(rows[at : at + 64])) for at in range(0, len(rows), 64)]
    array: Array = torch.cat(parts).numpy()
    return array


def test_a_lone_layer_is_a_model() -> None:
    """A linear regressor that is one module gives its input as features."""
    inputs: Array = np.ones((4, 6), np.float32)
    tap = open_tap(nn.Linear(6, 1), kind="outputs")
    assert (record(tap, inputs).width, tap.layer) == (6, "input of the module")


def test_a_cnn_by_itself_and_by_name(rows: Array) -> None:
    """The module's own logits to the last bit; features are the last layer's, or a named one's."""
    module = small_cnn()
    tap = TorchTap(module, kind="logits")
    stream = record(tap, rows)
    assert (stream.width, stream.classes, tap.layer) == (16, 5, "input of 8")
    np.testing.assert_array_equal(stream.posteriors, plainly(module, rows))
    np.testing.assert_array_equal(stream.features, plainly(module[:8], rows))
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


def test_kind_and_layer_are_never_guessed(rows: Array) -> None:
    """The caller must pass the kind; an unknown layer is answered with those that exist."""
    with pytest.raises(InputError, match="its kind must be given: kind="):
        record(TorchTap(small_cnn()), rows)
    with pytest.raises(InputError, match="layer must be one of the model's, such as"):
        TorchTap(Encoder(), "heads", kind="logits")


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


class Gate(nn.Module):
    """A wake word's detector with two named inputs and one output."""

    def __init__(self, *, squeeze: bool) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.inner = nn.Linear(7, 4)
        self.head = nn.Linear(4, 1)
        self.squeeze = squeeze

    def forward(self, sound: torch.Tensor, *, worn: torch.Tensor) -> torch.Tensor:
        """One logit of each step."""
        inner = torch.relu(self.inner(torch.cat([sound, worn[:, None].float()], dim=1)))
        logit: torch.Tensor = self.head(input=inner)
        return logit[:, 0] if self.squeeze else logit


@pytest.mark.parametrize("squeeze", [False, True])
def test_named_inputs_and_one_output(squeeze: bool) -> None:
    """A dictionary becomes keyword arguments, of booleans too; one logit becomes two classes."""
    rng = np.random.default_rng(0)
    named = {"sound": rng.normal(size=(100, 6)), "worn": rng.random(100) > 0.5}
    module = Gate(squeeze=squeeze)
    tap = open_tap(module, kind="logits")
    stream = record(tap, named, classes=["other", "wake"])
    with torch.no_grad():
        own = module(torch.tensor(named["sound"]).float(), worn=torch.tensor(named["worn"]))
    np.testing.assert_allclose(stream.posteriors[:, 1], own.reshape(-1), atol=1e-6)
    assert not stream.posteriors[:, 0].any()
    assert (tap.layer, stream.width, stream.class_names) == ("input of head", 4, ("other", "wake"))


def test_data_loaders(rows: Array) -> None:
    """Batches of any size, alone, with labels or as dictionaries, are one stream in order."""
    module, tensor = small_cnn(), torch.from_numpy(rows)
    labels = torch.arange(100) % 5
    expected = record(TorchTap(module, kind="logits", batch=10), rows, labels)
    pairs: Any = TensorDataset(tensor, labels)
    named: Any = [{"input": x, "labels": y} for x, y in pairs]
    loaders: list[Any] = [
        DataLoader(pairs, batch_size=10),
        DataLoader(pairs, batch_size=30),
        DataLoader(named, batch_size=20),
        ((rows[at : at + 50], labels[at : at + 50]) for at in (0, 50)),
    ]
    for loader in loaders:
        stream = record(TorchTap(module, kind="logits", batch=10), loader)
        assert stream.sha256 == expected.sha256
    alone = record(
        TorchTap(module, kind="logits", batch=10), DataLoader(TensorDataset(tensor), 10), labels
    )
    assert alone.sha256 == expected.sha256


def test_loaders_are_recorded_in_order_only(rows: Array) -> None:
    """A loader that shuffles is no recording, and `tap.run` says what takes a loader."""
    pairs = TensorDataset(torch.from_numpy(rows))
    with pytest.raises(InputError, match=r"recorded order, .* make it with shuffle=False"):
        record(TorchTap(small_cnn(), kind="logits"), DataLoader(pairs, shuffle=True))
    loader = DataLoader(TensorDataset(torch.from_numpy(rows)))
    with pytest.raises(InputError, match=r"got DataLoader: tcuq\.tap\.record takes"):
        TorchTap(small_cnn(), kind="logits").run(loader)


def test_tensors_and_tables_are_inputs(rows: Array) -> None:
    """A tensor with a gradient and a DataFrame give what their arrays give."""
    module = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 3))
    flat = rows.reshape(100, -1)[:, :8]
    expected = record(open_tap(module, kind="logits"), flat).sha256
    for inputs in (torch.tensor(flat, requires_grad=True), pd.DataFrame(flat), flat.tolist()):
        assert record(open_tap(module, kind="logits"), inputs).sha256 == expected


def test_a_layer_that_returns_several(rows: Array) -> None:
    """Of a recurrent layer's outputs the first is taken."""

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru = nn.GRU(6, 5, batch_first=True)
            self.head = nn.Linear(5, 2)

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"logits": self.head(self.gru(x)[0][:, -1])}

    series = rows.reshape(100, -1)[:, :60].reshape(100, 10, 6)
    module = Recurrent()
    stream = record(open_tap(module, "gru"), series, pool="mean")
    assert (stream.kind, stream.width) == ("logits", 5)
    with pytest.raises(InputError, match="kind must be 'logits', as the output's member"):
        record(open_tap(module, kind="probabilities"), series)


def test_layers_of_several_widths_are_refused(rows: Array) -> None:
    """Batches padded to several lengths are joined only after pooling."""
    module = nn.Sequential(nn.Conv1d(3, 4, 3), nn.AdaptiveAvgPool1d(1), nn.Flatten())
    series = rows.reshape(100, 3, -1)
    lengths: list[Array] = [series[:50, :, :20], series[50:, :, :30]]
    tap = TorchTap(module, "0", kind="logits")
    with pytest.raises(InputError, match=r"got 72 to 112 values: pad the inputs, or use pool="):
        record(tap, iter(lengths))
    with pytest.raises(InputError, match="inputs must hold at least 1 batch"):
        record(tap, iter([]))


def test_inputs_that_the_module_cannot_take_are_refused(rows: Array) -> None:
    """The module's own reason is in one line, and it is left as it was."""
    module = small_cnn().train()
    for inputs in (rows[:, :2], {"pictures": rows}):
        with pytest.raises(InputError, match="inputs are refused by the module: ") as caught:
            record(TorchTap(module, kind="logits"), inputs)
        assert "\n" not in str(caught.value)
    assert module.training
    assert not any(part._forward_pre_hooks for part in module.modules())  # noqa: SLF001


def bert_model(**options: Any) -> Any:
    """A BERT of two layers, in training mode."""
    torch.manual_seed(0)
    make: Any = BertForSequenceClassification
    return make(BertConfig(**SIZES, **options)).train()


@pytest.fixture(scope="module")
def encoded() -> Any:
    """Sentences as a tokenizer gives them."""
    rng = np.random.default_rng(0)
    mask = np.arange(TOKENS) < rng.integers(4, TOKENS, (SENTENCES, 1))
    tokens = rng.integers(1, 50, (SENTENCES, TOKENS)) * mask
    return BatchEncoding(
        {"input_ids": tokens.tolist(), "attention_mask": mask.astype(int).tolist()}
    )


def test_a_tokenizers_dictionary(encoded: Any) -> None:
    """Its logits in evaluation mode; the classifier's input is found; kind needs no saying."""
    bert = bert_model(num_labels=3)
    tap = open_tap(bert)
    stream = record(tap, encoded, np.arange(SENTENCES) % 3)
    assert (stream.kind, stream.classes, stream.width) == ("logits", 3, 16)
    assert tap.layer == "input of classifier"
    assert bert.training
    bert.eval()
    with torch.no_grad():
        own = bert(**{name: torch.tensor(values) for name, values in encoded.items()})
    np.testing.assert_allclose(stream.posteriors, own.logits.numpy(), atol=1e-6)


def test_tensors_labels_and_loaders(encoded: Any) -> None:
    """A dictionary of tensors with labels, and a loader of dictionaries, give the same stream."""
    bert = bert_model(num_labels=3)
    labels = np.arange(SENTENCES) % 3
    expected = record(open_tap(bert), encoded, labels).sha256
    tensors = encoded.convert_to_tensors("pt")
    assert record(open_tap(bert), {**tensors, "labels": labels}).sha256 == expected
    examples: Any = [
        {"input_ids": ids, "attention_mask": mask, "labels": label}
        for ids, mask, label in zip(
            tensors["input_ids"], tensors["attention_mask"], labels, strict=True
        )
    ]
    assert record(open_tap(bert), DataLoader(examples, batch_size=SENTENCES)).sha256 == expected


def test_a_named_encoder_and_a_regression(encoded: Any) -> None:
    """A submodule's class token is taken; one label is a regression for Hugging Face."""
    stream = record(open_tap(bert_model(num_labels=3), "bert.encoder"), encoded, pool="first")
    assert stream.width == 16
    regression = bert_model(num_labels=1)
    with pytest.raises(InputError, match=r'is a regression.*kind="outputs"'):
        record(open_tap(regression), encoded)
    assert record(open_tap(regression, kind="outputs"), encoded).kind == "outputs"
    several = bert_model(num_labels=3)
    several.config.problem_type = "regression"
    with pytest.raises(InputError, match=r'is a regression.*kind="outputs"'):
        record(open_tap(several), encoded)
