# SPDX-License-Identifier: Apache-2.0
"""Arguments that several commands have, and how they are parsed."""

import argparse
import re
from pathlib import Path

from tcuq.errors import InputError

SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmM]?)[iI]?[bB]?")
UNITS = {"": 1, "k": 1024, "m": 1024**2}


def add_without_telemetry(parser: argparse.ArgumentParser) -> None:
    """Add the option that leaves out telemetry."""
    parser.add_argument(
        "--without-telemetry",
        action="store_true",
        help="leave out the telemetry record and its counters",
    )


def add_measures(parser: argparse.ArgumentParser) -> None:
    """Add the options of measures on a recorded stream."""
    parser.add_argument(
        "--window", type=int, default=100, help="steps of the moving accuracy, default 100"
    )
    parser.add_argument(
        "--rounds", type=int, default=200, help="bootstrap rounds, default 200; 0: no intervals"
    )


def add_archive(parser: argparse.ArgumentParser) -> None:
    """Add the archive of recorded streams and how many threads read it."""
    parser.add_argument("archive", help="archive that `tcuq pack` wrote, or a folder of them")
    parser.add_argument(
        "--threads", type=int, help="row groups to run in parallel, default: one per core"
    )


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
