# SPDX-License-Identifier: Apache-2.0
"""Inputs for samples.c, which reads every input as groups and samples of input health."""

import struct
from collections.abc import Iterator, Sequence

NO_GROUPS, NO_CHANNELS, BOTH = 0, 1, 2  # which pointer is null
REPEATED, FRESH, LONGEST = 4, 1, 0xFF  # how samples follow each other; LONGEST fills a window
NEAR_ZERO, LOW, HIGH, EITHER_END, ANY, SPARSE = range(6)  # as in seeds.py
LAYOUTS: dict[str, tuple[tuple[int, bool], ...]] = {
    "axes": ((3, False), (3, True)),
    "one": ((1, True),),
    "widest": ((64, True),),
    "too wide": ((65, False),),
    "empty group": ((3, False), (0, False)),
    "no group": (),
    "most": ((1, True),) * 4,
    "too many": ((1, True),) * 5,
}


def layout(groups: Sequence[tuple[int, bool]], null: int = BOTH) -> bytes:
    """Return the bytes of groups as (channels, spread)."""
    pairs = b"".join(bytes([0xFF, channels, spread]) for channels, spread in groups)
    return bytes([null, len(groups)]) + pairs


def window(frames: int, block: int, mode: int, follow: int = FRESH) -> bytes:
    """Return the bytes of a window; LONGEST has 65,530 frames and `frames` more."""
    count = bytes([frames]) if follow == LONGEST else struct.pack("<H", frames)
    return bytes([follow]) + count + struct.pack("<HBH", block - 1, mode, 77)


def sample_inputs() -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every seed."""
    for name, groups in LAYOUTS.items():
        for mode in (NEAR_ZERO, LOW, HIGH, EITHER_END, ANY, SPARSE):
            ran = window(40, 7, mode) + window(9, 64, mode, REPEATED)
            yield f"samples-{name}-{mode}", layout(groups) + ran
    for frames in (0, 1, 2):
        yield f"samples-{frames}", layout(LAYOUTS["axes"]) + window(frames, 1, ANY) * 2
    for null in (NO_GROUPS, NO_CHANNELS):
        yield f"samples-null-{null}", layout(LAYOUTS["axes"], null)
    for more in (0, 5, 10):
        for mode in (LOW, EITHER_END, ANY):
            ran = window(more, 1000, mode, LONGEST)
            yield f"samples-longest-{more}-{mode}", layout(LAYOUTS["one"]) + ran
