# SPDX-License-Identifier: Apache-2.0
"""Recordings looped in random order with a little noise: a long stream from a short one."""

from collections.abc import Iterator, Sequence

import numpy as np

from tcuq.demo import demo_stream
from tcuq.stream import Stream

LOGIT_NOISE = 0.05
FEATURE_NOISE = 0.5  # of a quantisation step


def recordings(name: str) -> list[Stream]:
    """The recordings of a stream in the box, each a stream."""
    return demo_stream(name).recordings()


def joined(parts: Sequence[Stream]) -> Stream:
    """Recordings as one stream."""
    lengths = [len(part) for part in parts]
    return Stream(
        np.concatenate([part.posteriors for part in parts]),
        np.concatenate([part.features for part in parts if part.features is not None]),
        np.concatenate([part.labels for part in parts if part.labels is not None]),
        kind="logits",
        starts=np.cumsum([0, *lengths[:-1]]),
    )


def looped(parts: Sequence[Stream], steps: int, rng: np.random.Generator) -> Iterator[Stream]:
    """At least this many steps: every recording once in random order, again and again."""
    scale = _quantisation_step(parts)
    produced = 0
    while produced < steps:
        for index in rng.permutation(len(parts)):
            part = parts[index]
            assert part.features is not None  # noqa: S101 - the box's streams have features
            logits = part.posteriors.astype(np.float64)
            yield Stream(
                logits + LOGIT_NOISE * rng.normal(size=logits.shape),
                part.features + FEATURE_NOISE * scale * rng.normal(size=part.features.shape),
                kind="logits",
            )
            produced += len(part)


def _quantisation_step(parts: Sequence[Stream]) -> float:
    values = np.unique(np.concatenate([np.unique(p.features) for p in parts]))  # type: ignore[arg-type]
    return float(np.diff(values).min())
