# SPDX-License-Identifier: Apache-2.0
"""`tcuq export`: write a profile as C sources for a firmware project."""

import argparse
from pathlib import Path

from tcuq.cli._arguments import add_without_telemetry, adder
from tcuq.cli.output import print_result
from tcuq.errors import ExportError
from tcuq.files import atomic_write
from tcuq.profile import Profile
from tcuq.stream import Stream

SENTENCE = "write a profile as C for a firmware project"
EXAMPLE = "export monitor.json -o firmware --for c"
MAX_KEY_DIGITS = 1024


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
    add("--blob", "write the profile as a blob to send over the air", metavar="FILE")
    add("--number", "number of the blob, higher than that of any earlier blob", type=int)
    add("--key", "file with the key that signs the blob, in hexadecimal digits", metavar="FILE")
    add("--vectors", "take the steps of the self-test from this stream", metavar="STREAM")
    add(
        "--feature-codes",
        "scale and zero point of the network's int8 features: add a table that converts them",
        type=_parse_codes,
        metavar="SCALE,ZERO",
    )


def run(args: argparse.Namespace) -> None:
    """Write the sources or compare them with those in the folder; write the blob."""
    from tcuq.firmware import differences, export

    profile = Profile.load(args.profile)
    if args.output is None and args.blob is None:
        raise ExportError("nothing to write: give a folder with -o or a file with --blob")
    if args.blob is not None:
        _write_blob(args, profile)
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


def _write_blob(args: argparse.Namespace, profile: Profile) -> None:
    from tcuq.firmware import profile_blob

    if args.number is None or args.key is None:
        raise ExportError("--blob needs --number and --key")
    stream = None if args.vectors is None else Stream.load(args.vectors)
    blob = profile_blob(profile, number=args.number, key=_read_key(args.key), stream=stream)
    with atomic_write(Path(args.blob)) as file:
        file.write(blob)
    facts = {"profile": profile.sha256, "number": args.number, "bytes": len(blob)}
    text = f"profile {profile.sha256[:8]}, number {args.number}, {len(blob):,} bytes in {args.blob}"
    print_result(args, facts, text)


def _read_key(path: str) -> bytes:
    """Read a key from a file of hexadecimal digits; errors never show its content."""
    try:
        return bytes.fromhex(Path(path).read_text("ascii")[:MAX_KEY_DIGITS])
    except ValueError:
        raise ExportError(f"{path} must hold hexadecimal digits, at least 32") from None


def _parse_codes(text: str) -> tuple[float, int]:
    scale, _, zero_point = text.partition(",")
    return float(scale), int(zero_point)
