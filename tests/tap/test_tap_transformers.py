# SPDX-License-Identifier: Apache-2.0
"""Hugging Face models, small and random, with their tokenizers' dictionaries."""

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from tcuq.errors import InputError
from tcuq.tap import open_tap, record

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from transformers import BatchEncoding, BertConfig, BertForSequenceClassification

STEPS, TOKENS = 30, 12
SIZES: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


def model(**options: Any) -> Any:
    """A BERT of two layers, in training mode."""
    torch.manual_seed(0)
    make: Any = BertForSequenceClassification
    return make(BertConfig(**SIZES, **options)).train()


@pytest.fixture(scope="module")
def encoded() -> Any:
    """Sentences as a tokenizer gives them."""
    rng = np.random.default_rng(0)
    mask = np.arange(TOKENS) < rng.integers(4, TOKENS, (STEPS, 1))
    tokens = rng.integers(1, 50, (STEPS, TOKENS)) * mask
    return BatchEncoding(
        {"input_ids": tokens.tolist(), "attention_mask": mask.astype(int).tolist()}
    )


def test_a_tokenizers_dictionary(encoded: Any) -> None:
    """Its logits in evaluation mode; the classifier's input is found; kind needs no saying."""
    bert = model(num_labels=3)
    tap = open_tap(bert)
    stream = record(tap, encoded, np.arange(STEPS) % 3)
    assert (stream.kind, stream.classes, stream.width) == ("logits", 3, 16)
    assert tap.layer == "input of classifier"
    assert bert.training
    bert.eval()
    with torch.no_grad():
        own = bert(**{name: torch.tensor(values) for name, values in encoded.items()})
    np.testing.assert_allclose(stream.posteriors, own.logits.numpy(), atol=1e-6)


def test_tensors_labels_and_loaders(encoded: Any) -> None:
    """A dictionary of tensors with labels, and a loader of dictionaries, give the same stream."""
    bert = model(num_labels=3)
    labels = np.arange(STEPS) % 3
    expected = record(open_tap(bert), encoded, labels).sha256
    tensors = encoded.convert_to_tensors("pt")
    assert record(open_tap(bert), {**tensors, "labels": labels}).sha256 == expected
    examples: Any = [
        {"input_ids": ids, "attention_mask": mask, "labels": label}
        for ids, mask, label in zip(
            tensors["input_ids"], tensors["attention_mask"], labels, strict=True
        )
    ]
    assert record(open_tap(bert), DataLoader(examples, batch_size=STEPS)).sha256 == expected


def test_a_named_encoder(encoded: Any) -> None:
    """A submodule's first output, of which the class token is taken."""
    stream = record(open_tap(model(num_labels=3), "bert.encoder"), encoded, pool="first")
    assert stream.width == 16


def test_a_regression_is_refused(encoded: Any) -> None:
    """One label is a regression for Hugging Face, not a classifier of two classes."""
    with pytest.raises(InputError, match="got a regression: num_labels is 1"):
        record(open_tap(model(num_labels=1)), encoded)
