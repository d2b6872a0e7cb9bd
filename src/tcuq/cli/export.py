# SPDX-License-Identifier: Apache-2.0
"""`tcuq export`: write a profile as C sources for a firmware project."""

import argparse

from tcuq.cli._arguments import add_without_telemetry, adder, parsed_as
from tcuq.cli._blob import add_blob_arguments, write_blobs
from tcuq.cli.output import print_result
from tcuq.errors import ExportError
from tcuq.profile import Profile
from tcuq.stream import Stream

SENTENCE = "write a profile as C for a firmware project"
EXAMPLE = "export monitor.json -o firmware --for c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add("profile", "profile to export, .json")
    add("-o", "--output", "folder to write: a new one, or an earlier export")
    add(
        "--for",
        "build system: c (default), arduino, zephyr, esp-idf, platformio; profile: no runtime",
        dest="target",
        default="c",
    )
    add(
        "--name",
        "name of the monitor in C, tcuq_NAME (default device); one folder holds several",
        default="device",
    )
    add("--check", "check that the folder is up to date, and write nothing", action="store_true")
    add_without_telemetry(parser)
    add("--uplink", "add the code that sends telemetry records", action="store_true")
    add("--ota", "add the code that loads profiles over the air", action="store_true")
    add_blob_arguments(parser)
    add("--vectors", "take the steps of the self-test from this stream", metavar="STREAM")
    add(
        "--feature-codes",
        "scale and zero point of the network's int8 features: add a table that converts them",
        type=parsed_as("a scale and a zero point such as 0.05,-3", _codes),
        metavar="SCALE,ZERO",
    )


def run(args: argparse.Namespace) -> None:
    """Write the sources or compare them with those in the folder; write the blob."""
    from tcuq.firmware import differences, export

    profile = Profile.load(args.profile)
    if args.output is None and args.blob is None:
        raise ExportError("nothing to write: give a folder with -o or a file with --blob")
    if args.blob is not None:
        write_blobs(args, profile)
    if args.output is None:
        return
    options = {
        "name": args.name,
        "telemetry": not args.without_telemetry,
        "uplink": args.uplink,
        "ota": args.ota,
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
    yours = ", ".join(sorted(folder.user_files))
    text = f"{len(folder.files)} files for {folder.target} in {args.output}"
    print_result(args, facts, f"{text}; yours to change: {yours}" if yours else text)


def _codes(text: str) -> tuple[float, int]:
    scale, _, zero_point = text.partition(",")
    return float(scale), int(zero_point)
