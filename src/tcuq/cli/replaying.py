# SPDX-License-Identifier: Apache-2.0
"""`pack`, `replay` and `recalibrate`: recorded streams into chunks, and profiles over them."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from tcuq._atomic import written_whole
from tcuq.cli.printing import Commands, check_output, say
from tcuq.cli.reporting import named
from tcuq.errors import FitError, InputError, StreamError
from tcuq.profile import Profile
from tcuq.stream import KINDS


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parsers of these commands."""
    pack = parsers.add_parser("pack", help="recorded streams into one file for replay")
    pack.add_argument("sources", nargs="+", help=".npz, or .csv and .parquet with a row a step")
    pack.add_argument("-o", "--output", required=True, help="file of chunks to write, .parquet")
    pack.add_argument("--profile", help="keep the bytes that its device is given; fastest")
    pack.add_argument("--kind", choices=KINDS, default="probabilities", help="of tables")
    pack.set_defaults(command=_pack)
    yield pack

    replay = parsers.add_parser("replay", help="profiles over many recorded streams, compared")
    replay.add_argument("profiles", nargs="+", metavar="profile", help="the first is the present")
    replay.add_argument("archive", help="file of chunks, or a folder of them")
    replay.add_argument("-o", "--output", required=True, help="folder of the run; goes on there")
    replay.add_argument("--threads", type=int, help="row groups at once, default: all cores")
    replay.add_argument("--decisions", action="store_true", help="keep a byte a step, too")
    replay.set_defaults(command=_replay)
    yield replay

    again = parsers.add_parser("recalibrate", help="a profile's reference from the field")
    again.add_argument("profile", help="as it was fitted")
    again.add_argument("archive", help="file of chunks, or a folder of them")
    again.add_argument("-o", "--output", required=True, help="profile to write, .json")
    again.add_argument("--threads", type=int, help="row groups at once, default: all cores")
    again.add_argument("--accept", action="store_true", help="write it in spite of objections")
    again.set_defaults(command=_recalibrate)
    yield again


def _pack(asked: argparse.Namespace) -> None:
    from tcuq.replay import pack

    check_output(asked.output, ".parquet")
    profile = None if asked.profile is None else Profile.load(asked.profile)
    steps = pack(asked.sources, asked.output, profile=profile, kind=asked.kind)
    facts = {"steps": steps, "files": len(asked.sources), "written": asked.output}
    say(asked, facts, f"{steps:,} steps of {len(asked.sources)} files written to {asked.output}")


def _replay(asked: argparse.Namespace) -> None:
    from tcuq.replay import replay_files
    from tcuq.replay.page import page

    if asked.threads is not None and asked.threads < 1:
        raise InputError(f"threads must be at least 1, got {asked.threads}")
    profiles = {name: Profile.load(path) for name, path in named(asked.profiles).items()}
    found = replay_files(
        profiles, [asked.archive], asked.output, threads=asked.threads, decisions=asked.decisions
    )
    folder = Path(asked.output)
    with written_whole(folder / "report.html") as file:
        file.write(page(found, f"Replay of {Path(asked.archive).name}").encode())
    written = f"a row a stream: {folder / 'streams.parquet'}; page: {folder / 'report.html'}"
    say(asked, found.facts(), "\n".join([*found.lines(), written]))
    if found.damaged:
        raise StreamError(
            f"{len(found.damaged)} of the input's row groups could not be read; the rest is done."
            " Mend the files and give the same command again"
        )


def _recalibrate(asked: argparse.Namespace) -> None:
    from tcuq.replay.recalibration import recalibrate

    check_output(asked.output, ".json")
    found = recalibrate(Profile.load(asked.profile), [asked.archive], threads=asked.threads)
    written = asked.accept or not found.objections
    if written:
        found.profile.save(asked.output)
    facts = found.comparison.facts() | {
        "beyond": dict(found.beyond),
        "objections": list(found.objections),
        "written": asked.output if written else None,
    }
    shares = (f"{100 * share:.1f} % {signal}" for signal, share in found.beyond.items())
    lines = [
        *found.comparison.lines(),
        f"blocks beyond the present 2 % edge: {', '.join(shares)}",
        *(f"objection: {objection}" for objection in found.objections),
    ]
    say(asked, facts, "\n".join(lines + [f"written to {asked.output}"] * written))
    if not written:
        raise FitError(f"{asked.output} was not written: look at the objections, then say --accept")
