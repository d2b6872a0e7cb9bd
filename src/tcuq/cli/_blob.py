# SPDX-License-Identifier: Apache-2.0
"""`tcuq export --blob`: a profile signed for a device, for a list of devices or a product."""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tcuq.cli._arguments import adder, parsed_as
from tcuq.cli.output import print_result
from tcuq.errors import ExportError
from tcuq.files import atomic_write
from tcuq.profile import Profile
from tcuq.stream import Stream

if TYPE_CHECKING:
    from tcuq.firmware import Signer

MAX_KEY_BYTES = 4096
PLACE = "{device}"


def add_blob_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a blob."""
    add = adder(parser)
    add("--blob", "write the profile as a blob to send over the air", metavar="FILE")
    add("--number", "number of the blob, higher than that of any earlier blob", type=int)
    add("--key", "file with a private key in PEM, or one device's key in hexadecimal digits")
    add("--master", "file with a master key in hexadecimal digits: sign by keys derived from it")
    add(
        "--device",
        "device to derive a key for, 16 hexadecimal digits",
        type=parsed_as("16 hexadecimal digits", _device),
    )
    add("--devices", "file with one device per line; --blob then has {device} in its name")
    add("--key-number", "number of the key or master, 0 (default) to 255", type=int, default=0)
    add(
        "--product",
        "product that the blob is for, default 0",
        type=parsed_as("a whole number", _integer),
        default=0,
    )
    add("--expires", "day from which no device activates the blob", metavar="YYYY-MM-DD")


def write_blobs(args: argparse.Namespace, profile: Profile) -> None:
    """Write one blob, or one per device."""
    blobs = list(_blobs(args, profile))
    for path, blob in blobs:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(blob)
    size = len(blobs[0][1])
    facts = {"profile": profile.sha256, "number": args.number, "bytes": size, "blobs": len(blobs)}
    where = args.blob if len(blobs) == 1 else f"{len(blobs)} files {args.blob}"
    text = f"profile {profile.sha256[:8]}, number {args.number}, {size:,} bytes in {where}"
    print_result(args, facts, text)


def _blobs(args: argparse.Namespace, profile: Profile) -> Iterator[tuple[Path, bytes]]:
    from tcuq.firmware import device_blobs, profile_blob

    if args.number is None or (args.key is None) == (args.master is None):
        raise ExportError("--blob needs --number, and one of --key and --master")
    label = {
        "product": args.product,
        "expires": 0 if args.expires is None else _parse_day(args.expires),
        "stream": None if args.vectors is None else Stream.load(args.vectors),
    }
    if args.key is not None:
        signer = _signer(args.key, args.key_number)
        yield Path(args.blob), profile_blob(profile, number=args.number, signer=signer, **label)
        return
    devices = _devices(args)
    master = _hexadecimal(args.master, _read_key(args.master))
    signed = device_blobs(
        profile, number=args.number, master=master, devices=devices, key_number=args.key_number,
        **label,
    )  # fmt: skip
    for device, blob in signed:
        yield Path(args.blob.replace(PLACE, f"{device:016x}")), blob


def _devices(args: argparse.Namespace) -> list[int]:
    if (args.device is None) == (args.devices is None):
        raise ExportError("--master needs one of --device and --devices")
    if args.device is not None:
        return [args.device]
    if PLACE not in args.blob:
        raise ExportError(f"--blob must have {PLACE} in its name to write one file per device")
    try:
        devices = [_device(line) for line in Path(args.devices).read_text("ascii").split()]
    except ValueError as error:
        raise ExportError(f"{args.devices}: {error}") from None
    if not devices:
        raise ExportError(f"{args.devices}: must name at least one device")
    return devices


def _signer(path: str, key_number: int) -> "Signer":
    from tcuq.firmware import hmac_signer, private_signer

    content = _read_key(path)
    if not content.startswith(b"-----BEGIN"):
        return hmac_signer(_hexadecimal(path, content), key_number=key_number)
    try:
        return private_signer(content, key_number=key_number)
    except ExportError as error:
        raise ExportError(f"{path} {error}") from None


def _read_key(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(MAX_KEY_BYTES)


def _hexadecimal(path: str, content: bytes) -> bytes:
    """Parse a key of hexadecimal digits; errors never show its content."""
    try:
        return bytes.fromhex(content.decode("ascii"))
    except ValueError:
        raise ExportError(f"{path} must hold hexadecimal digits, at least 32") from None


def _device(text: str) -> int:
    if len(text) != 16:
        raise ValueError(f"a device must have 16 hexadecimal digits, got {text[:20]!r}")
    return int(text, 16)


def _integer(text: str) -> int:
    return int(text, 0)


def _parse_day(text: str) -> int:
    try:
        return int(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise ExportError(f"--expires must be a day, YYYY-MM-DD, got {text!r}") from None
