# SPDX-License-Identifier: Apache-2.0
"""Replay: candidate profiles over months of recorded streams, here or on another backend."""

from tcuq.replay.comparison import ReplayComparison
from tcuq.replay.function import Replay
from tcuq.replay.layout import Layout, layout_of
from tcuq.replay.local import replay_files
from tcuq.replay.packing import pack
from tcuq.replay.row_groups import Damage
from tcuq.replay.writing import ChunkWriter

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
