# SPDX-License-Identifier: Apache-2.0
"""The interface: (batch, severity 1..5, rng) to a batch of the same type and shape."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Array = NDArray[Any]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Corruption = Callable[[Array, int, Generator], Array]
Suite = Mapping[str, Corruption]

SEVERITIES = (1, 2, 3, 4, 5)
CHUNK = 512  # images processed at once, which bounds the memory


def apply(suite: Suite, name: str, batch: Array, severity: int, rng: Generator) -> Array:
    """Apply one of the suite's corruptions to a batch; severity 0 leaves it as it is."""
    if name not in suite:
        raise ValueError(f"a corruption must be one of {', '.join(suite)}, got {name!r}")
    if severity != 0 and severity not in SEVERITIES:
        raise ValueError(f"severity must lie in 0..5, got {severity}")
    return batch if severity == 0 else suite[name](batch, severity, rng)


def on_bytes(change: Callable[[Floats, int, Generator], Array]) -> Corruption:
    """Make a corruption of uint8 images from a change of float32 (n, height, width, channels).

    The change gets values in 0..1; its result is clipped to 0..1 and, like the published sets,
    truncated to bytes. Grey-scale images (n, height, width) get one channel.
    """

    def corruption(batch: Array, severity: int, rng: Generator) -> Bytes:
        if batch.dtype != np.uint8 or batch.ndim not in (3, 4):
            raise ValueError(f"images must be uint8, 3 or 4 axes, got {batch.dtype} {batch.shape}")
        out = np.empty(batch.shape, np.uint8)
        for begin in range(0, len(batch), CHUNK):
            part = batch[begin : begin + CHUNK]
            unit = part.reshape(*part.shape[:3], -1).astype(np.float32) / np.float32(255)
            changed = np.clip(change(unit, severity, rng), 0, 1) * 255
            # A small offset, so that an unchanged value is not truncated to the one below.
            out[begin : begin + CHUNK] = (changed + 1e-3).astype(np.uint8).reshape(part.shape)
        return out

    return corruption
