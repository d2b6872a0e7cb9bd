# SPDX-License-Identifier: Apache-2.0
"""`report`: one page on what profiles would have done on a stream."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from tcuq._atomic import written_whole
from tcuq.cli.printing import Commands, check_output, say
from tcuq.errors import InputError
from tcuq.profile import Profile
from tcuq.recording import load_stream


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parser of this command."""
    report = parsers.add_parser("report", help="one HTML page on profiles and a recorded stream")
    report.add_argument("profiles", nargs="+", metavar="profile", help="several are compared")
    report.add_argument("stream")
    report.add_argument("-o", "--output", required=True, help="page to write, .html")
    report.add_argument("--window", type=int, default=100, help="steps of the moving accuracy")
    report.add_argument("--rounds", type=int, default=200, help="bootstrap rounds")
    report.set_defaults(command=_report)
    yield report


def _report(asked: argparse.Namespace) -> None:
    from tcuq.report import report

    check_output(asked.output, ".html")
    profiles = {name: Profile.load(path) for name, path in named(asked.profiles).items()}
    stream = load_stream(asked.stream)
    name = Path(asked.stream).name
    page = report(profiles, stream, name, window=asked.window, rounds=asked.rounds).encode()
    with written_whole(asked.output) as file:
        file.write(page)
    facts = {
        "profiles": {name: profile.sha256 for name, profile in profiles.items()},
        "stream": stream.sha256,
        "bytes": len(page),
        "written": asked.output,
    }
    say(asked, facts, f"{len(page):,} bytes written to {asked.output}")


def named(paths: list[str]) -> dict[str, str]:
    """Each file by its name, or by its whole path where names are alike."""
    if len(set(paths)) < len(paths):
        raise InputError(f"profiles must be different files, got {', '.join(sorted(paths))}")
    names = [Path(path).name for path in paths]
    return {n if names.count(n) == 1 else p: p for n, p in zip(names, paths, strict=True)}
