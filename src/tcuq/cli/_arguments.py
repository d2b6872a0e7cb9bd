# SPDX-License-Identifier: Apache-2.0
"""Arguments that commands parse: lags, groups, sizes in bytes, and profiles by name."""

import argparse
import re
from pathlib import Path

from tcuq.errors import InputError

SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmM]?)[iI]?[bB]?")
UNITS = {"": 1, "k": 1024, "m": 1024**2}


def parse_lags(text: str) -> tuple[int, ...]:
    """Comma-separated lags, such as 1,2,4."""
    return tuple(int(lag) for lag in text.split(","))


def parse_groups(text: str) -> tuple[tuple[int, ...], ...]:
    """Groups of channels, such as 0,1,2:3,4,5."""
    return tuple(tuple(int(channel) for channel in group.split(",")) for group in text.split(":"))


def parse_bytes(text: str) -> int:
    """A size in bytes, such as 180K."""
    match = SIZE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"must be a size such as 180K, got {text[:40]!r}")
    return round(float(match[1]) * UNITS[match[2].lower()])


def paths_by_name(paths: list[str]) -> dict[str, str]:
    """Each path by its file name, or by the whole path where file names are alike."""
    if len(set(paths)) < len(paths):
        raise InputError(f"profiles must be different files, got {', '.join(sorted(paths))}")
    names = [Path(path).name for path in paths]
    return {n if names.count(n) == 1 else p: p for n, p in zip(names, paths, strict=True)}
