# SPDX-License-Identifier: Apache-2.0
"""Replay: candidate profiles over months of recorded streams, here or on another backend."""

from tcuq.replay.comparison import ReplayComparison
from tcuq.replay.function import Replay
from tcuq.replay.layout import Layout, layout_of
from tcuq.replay.local import replay_files
from tcuq.replay.packing import ChunkWriter, pack
from tcuq.replay.units import Damage

__all__ = [
    "ChunkWriter",
    "Damage",
    "Layout",
    "Replay",
    "ReplayComparison",
    "layout_of",
    "pack",
    "replay_files",
]
