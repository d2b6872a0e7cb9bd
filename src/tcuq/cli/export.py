# SPDX-License-Identifier: Apache-2.0
"""`tcuq export`: write a profile as C sources for a firmware project."""

import argparse

from tcuq.cli._output import Commands, print_result
from tcuq.errors import ExportError
from tcuq.profile import Profile
from tcuq.stream import Stream


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "export", help="write a profile as C for a firmware project"
    )
    parser.add_argument("profile", help="profile to export, .json")
    parser.add_argument("-o", "--output", required=True, help="folder: new, or an earlier export")
    parser.add_argument(
        "--for",
        dest="target",
        default="c",
        help="c (default), arduino, zephyr, esp-idf, platformio",
    )
    parser.add_argument(
        "--name",
        default="device",
        help="of the model in C, tcuq_NAME (default device); a folder takes several",
    )
    parser.add_argument("--check", action="store_true", help="only check that it is up to date")
    parser.add_argument("--without-telemetry", action="store_true", help="no counters, no record")
    parser.add_argument("--uplink", action="store_true", help="add the code that sends records")
    parser.add_argument("--vectors", metavar="STREAM", help="take the self-test's steps from it")
    parser.add_argument(
        "--feature-codes",
        type=_parse_codes,
        metavar="SCALE,ZERO",
        help="quantisation of the network's int8 features: add a table to the monitor's",
    )
    return parser


def run(args: argparse.Namespace) -> None:
    """Write the sources, or compare them with those in the folder."""
    from tcuq.export import differences, export

    profile = Profile.load(args.profile)
    options = {
        "name": args.name,
        "telemetry": not args.without_telemetry,
        "uplink": args.uplink,
        "stream": None if args.vectors is None else Stream.load(args.vectors),
        "feature_codes": args.feature_codes,
    }
    if args.check:
        stale = differences(profile, args.output, args.target, **options)
        if stale:
            more = f" and {len(stale) - 3} more" if len(stale) > 3 else ""
            raise ExportError(
                f"{args.output}: is not current: {', '.join(stale[:3])}{more};"
                " run the same command without --check"
            )
        print_result(args, {"current": True}, f"{args.output} is current")
        return
    folder = export(profile, args.output, args.target, **options)
    facts = {
        "profile": profile.sha256,
        "for": folder.target,
        "files": sorted(folder.files),
        "user_files": sorted(folder.user_files),
    }
    text = f"{len(folder.files)} files for {folder.target} in {args.output}"
    print_result(args, facts, f"{text}; yours to change: {', '.join(sorted(folder.user_files))}")


def _parse_codes(text: str) -> tuple[float, int]:
    scale, _, zero_point = text.partition(",")
    return float(scale), int(zero_point)
