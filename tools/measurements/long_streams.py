# SPDX-License-Identifier: Apache-2.0
"""The turns of the bundled test speakers in random order: a long stream from a short one."""

from collections.abc import Iterator

import numpy as np

from tcuq.demo import demo_stream
from tcuq.health import Health
from tcuq.stream import Stream

TURN = 20  # steps that a speaker says before the next speaker


def shuffled_turns(name: str, steps: int, rng: np.random.Generator) -> Iterator[Stream]:
    """Yield at least this many steps: every turn once in random order, again and again."""
    stream = demo_stream(name)
    assert stream.features is not None  # noqa: S101 - for the type checker: bundled data has them
    assert stream.health is not None  # noqa: S101
    turns = np.arange(len(stream)).reshape(-1, TURN)
    produced = 0
    while produced < steps:
        order = rng.permutation(turns).reshape(-1)
        yield Stream(
            stream.posteriors[order],
            stream.features[order],
            kind=stream.kind,
            health=Health(stream.health[order], stream.health_names),
        )
        produced += len(order)
