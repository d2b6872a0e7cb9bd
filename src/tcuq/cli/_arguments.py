# SPDX-License-Identifier: Apache-2.0
"""Arguments that several commands have, and how they are parsed."""

import argparse
import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tcuq.errors import InputError

SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmM]?)[iI]?[bB]?")
UNITS = {"": 1, "k": 1024, "m": 1024**2}


def adder(parser: argparse.ArgumentParser) -> Callable[..., None]:
    """Return a function that adds an argument: its names, its help text, options of argparse.

    A default is appended to a text that does not mention it.
    """

    def add(*names_and_text: str, **options: Any) -> None:  # noqa: ANN401 - argparse's
        *names, text = names_and_text
        default = options.get("default")
        if default and "default" not in text:
            text += f", default {default if isinstance(default, str) else f'{default:g}'}"
        parser.add_argument(*names, help=text, **options)

    return add


def add_without_telemetry(parser: argparse.ArgumentParser) -> None:
    """Add the option that leaves out telemetry."""
    text = "leave out the telemetry record and its counters"
    adder(parser)("--without-telemetry", text, action="store_true")


def add_measures(parser: argparse.ArgumentParser) -> None:
    """Add the options of measures on a recorded stream."""
    add = adder(parser)
    add("--window", "steps of the moving accuracy", type=int, default=100)
    add("--rounds", "bootstrap rounds, default 200; 0: no intervals", type=int, default=200)


def add_archive(parser: argparse.ArgumentParser) -> None:
    """Add the archive of recorded streams and how many threads read it."""
    add = adder(parser)
    add("archive", "archive that `tcuq pack` wrote, or a folder of them")
    add("--threads", "row groups to run in parallel, default: one per core", type=int)


def add_options(parser: argparse._ActionsContainer, kind: type) -> None:
    """Add one option per field of an options class; its docstring explains and its types check."""
    texts = parameter_texts(kind)
    hints = get_type_hints(kind)
    for one in fields(kind):
        annotation = hints[one.name]
        members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
        plain = next((m for m in members if m is not type(None)), annotation)
        choices = get_args(plain) if get_origin(plain) is Literal else None
        shown = f"{one.default:.6g}" if isinstance(one.default, float) else one.default
        start = "" if one.default in (MISSING, None) else f", default {shown}"
        parser.add_argument(
            f"--{one.name.replace('_', '-')}",
            type=plain if choices is None else type(choices[0]),
            choices=choices,
            help=texts[one.name].replace("%", "%%") + start,
        )


def parameter_texts(kind: type) -> dict[str, str]:
    """Return what a class's docstring says of each parameter, on one line without its full stop."""
    section = inspect.cleandoc(kind.__doc__ or "").partition("----------\n")[2]
    described = re.findall(r"^(\w+)\n((?:    .+\n?)+)", section, re.MULTILINE)
    texts = {name: " ".join(text.split()).removesuffix(".") for name, text in described}
    return {name: text[0].lower() + text[1:] for name, text in texts.items()}


def parsed_as(what: str, parse: Callable[[str], object]) -> Callable[[str], object]:
    """Return `parse` for an argument that must be ``what``; it refuses text by a ValueError."""

    def parsed(text: str) -> object:
        try:
            return parse(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {what}, got {text[:40]!r}") from None

    return parsed


def _lags(text: str) -> tuple[int, ...]:
    return tuple(int(lag) for lag in text.split(","))


def _groups(text: str) -> tuple[tuple[int, ...], ...]:
    return tuple(_lags(group) for group in text.split(":"))


def _bytes(text: str) -> int:
    match = SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    return round(float(match[1]) * UNITS[match[2].lower()])


parse_lags = parsed_as("steps such as 1,2,4", _lags)
parse_groups = parsed_as("groups of channels such as 0,1,2:3,4,5", _groups)
parse_bytes = parsed_as("a size such as 180K", _bytes)


def paths_by_name(paths: list[str]) -> dict[str, str]:
    """Each path by its file name, or by the whole path where file names are alike."""
    if len(set(paths)) < len(paths):
        raise InputError(f"profiles must be different files, got {', '.join(sorted(paths))}")
    names = [Path(path).name for path in paths]
    return {n if names.count(n) == 1 else p: p for n, p in zip(names, paths, strict=True)}
