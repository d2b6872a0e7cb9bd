# SPDX-License-Identifier: Apache-2.0
"""The wire protocol: MQTT topics, the acknowledgement's layout, and how ids are written as text.

`tcuq/<site>/<device>/record` carries one record, `tcuq/<site>/<gateway>/records` up to 1,000, and
`tcuq/<site>/<device or gateway>/stored` the acknowledgements.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from tcuq.errors import InputError
from tcuq.telemetry import Keys

_ACK = [("device", "<u8"), ("boot", "<u4"), ("sequence", "<u4")]
ACK = np.dtype(_ACK)
SIGNED_ACK = np.dtype([*_ACK, ("key", "u1"), ("tag", "u1", (12,))])
TAGGED = 17  # bytes of a signed acknowledgement that its tag covers
MAX_RECORDS = 1000  # in one message of a gateway
MOUNT_POINT = "devices/"  # before every topic of the devices' listener, as workers see it
STORED_FILTER = "tcuq/+/+/stored"

Kind = Literal["record", "records", "stored"]

NAME = "[a-z0-9-]{1,32}"  # pattern of a site's or a gateway's name
_NAME = re.compile(NAME)
_DEVICE = re.compile(r"[0-9a-f]{16}")
_TOPIC = re.compile(
    f"tcuq/({NAME})/(?:([0-9a-f]{{16}})/(record|stored)"
    f"|(?![0-9a-f]{{16}}/)({NAME})/(records|stored))"
)
_FIRMWARE = re.compile(r"(\d{1,3})\.(\d{1,3})(?:\.(\d{1,5}))?")


class Topic(NamedTuple):
    """The parts of a topic; `name` is a device's 16 hexadecimal digits or a gateway's name."""

    site: str
    name: str
    kind: Kind

    @property
    def device(self) -> int | None:
        """The device's id, or None if the name is a gateway's."""
        return int(self.name, 16) if _DEVICE.fullmatch(self.name) else None


def device_name(device: int) -> str:
    """Return a device's id, signed or unsigned, as 16 lowercase hexadecimal digits.

    Examples
    --------
    >>> device_name(0xBEEF)
    '000000000000beef'
    """
    if not -(2**63) <= device < 2**64:
        raise InputError(f"device must lie in 0..2^64-1, got {device}")
    return f"{device % 2**64:016x}"


def profile_name(profile: int) -> str:
    """Return the first 4 bytes of a profile's hash, signed or unsigned, as 8 hexadecimal digits.

    Examples
    --------
    >>> profile_name(-1)
    'ffffffff'
    """
    return f"{profile % 2**32:08x}"


def firmware_code(version: str) -> int:
    """Encode a version as the record's u32: major u8, minor u8, patch u16.

    Examples
    --------
    >>> hex(firmware_code("1.8"))
    '0x1080000'
    """
    match = _FIRMWARE.fullmatch(version)
    major, minor, patch = (int(part or 0) for part in match.groups()) if match else (-1, 0, 0)
    if not (0 <= major < 256 and minor < 256 and patch < 65536):
        raise InputError(
            f"a firmware is major.minor[.patch], up to 255.255.65535, got {version[:64]!r}"
        )
    return major << 24 | minor << 16 | patch


def firmware_name(code: int) -> str:
    """Decode the record's u32, signed or unsigned, to a version.

    Examples
    --------
    >>> firmware_name(0x1080000)
    '1.8.0'
    """
    return f"{code >> 24 & 255}.{code >> 16 & 255}.{code & 65535}"


def to_signed(value: int, bits: int) -> int:
    """Return the signed integer of the same bits, as the database stores it.

    Examples
    --------
    >>> to_signed(2**64 - 1, 64)
    -1
    """
    return value - (1 << bits) if value >> (bits - 1) else value


# Fields of rows that show the database's numbers as text.
DeviceId = Annotated[str, BeforeValidator(device_name)]
ProfileId = Annotated[str, BeforeValidator(profile_name)]
FirmwareId = Annotated[str, BeforeValidator(firmware_name)]


def record_topic(site: str, device: int) -> str:
    """Return the topic to which a device publishes its records."""
    return f"tcuq/{_check_site(site)}/{device_name(device)}/record"


def records_topic(site: str, gateway: str) -> str:
    """Return the topic to which a gateway publishes records of many devices."""
    return f"tcuq/{_check_site(site)}/{_check_gateway(gateway)}/records"


def stored_filter(gateway: str) -> str:
    """Return the topic filter for a gateway's acknowledgements from all its sites."""
    return f"tcuq/+/{_check_gateway(gateway)}/stored"


def shared_filters(mount_point: str = "") -> tuple[str, str]:
    """Return the topic filters by which workers share the records."""
    shared = f"$share/ingest/{mount_point}tcuq/+/+/"
    return f"{shared}record", f"{shared}records"


def parse_topic(topic: str) -> Topic:
    """Split a topic into its parts; InputError if it is not one of this protocol's.

    Examples
    --------
    >>> parse_topic("tcuq/plant-7/000000000000beef/record")
    Topic(site='plant-7', name='000000000000beef', kind='record')
    """
    match = _TOPIC.fullmatch(topic)
    if match is None:
        raise InputError(
            "a topic is tcuq/<site>/<device>/record or tcuq/<site>/<gateway>/records, or ends in"
            f" stored; names are 1 to 32 of a-z, 0-9 and -, got {topic[:200]!r}"
        )
    site, device, sent, gateway, kind = match.groups()
    return Topic(site, device or gateway, cast("Kind", sent or kind))


def sign_acks(acks: NDArray[np.void], key_ids: Mapping[int, int], keys: Keys) -> NDArray[np.void]:
    """Authenticate acknowledgements with their devices' keys; `key_ids` has each device's key id.

    Examples
    --------
    >>> acks = np.array([(7, 1, 2)], ACK)
    >>> sign_acks(acks, {7: 3}, Keys({3: bytes(32)})).tobytes().hex()
    '070000000000000001000000020000000330328678b57bd6cba233e1c1'
    """
    signed = np.zeros(len(acks), SIGNED_ACK)
    for name in ACK.names or ():
        signed[name] = acks[name]
    signed["key"] = [key_ids[device] for device in acks["device"].tolist()]
    rows = signed.view(np.uint8).reshape(len(signed), -1)
    signed["tag"] = keys.tags(signed["key"], signed["device"], rows[:, :TAGGED])
    return signed


def _check_site(site: str) -> str:
    if not _NAME.fullmatch(site):
        raise InputError(f"a site is 1 to 32 of a-z, 0-9 and -, got {site[:64]!r}")
    return site


def _check_gateway(name: str) -> str:
    if not _NAME.fullmatch(name) or _DEVICE.fullmatch(name):
        raise InputError(
            f"a gateway is 1 to 32 of a-z, 0-9 and -, and no device's 16 digits, got {name[:64]!r}"
        )
    return name
