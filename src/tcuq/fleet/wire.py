# SPDX-License-Identifier: Apache-2.0
"""Names on the wire, in one place: topics, the acknowledgement, firmware versions.

`tcuq/<site>/<device>/record` carries one record, `tcuq/<site>/<gateway>/records` up to 1,000, and
`tcuq/<site>/<device or gateway>/stored` the acknowledgements.
"""

import re
from typing import Literal, NamedTuple, cast

import numpy as np

from tcuq.errors import InputError

ACK = np.dtype([("device", "<u8"), ("boot", "<u4"), ("sequence", "<u4")])
MAX_RECORDS = 1000  # in one message of a gateway
SHARED = ("$share/ingest/tcuq/+/+/record", "$share/ingest/tcuq/+/+/records")  # of the workers
RECORD_FILTER = "tcuq/+/+/record"
RECORDS_FILTER = "tcuq/+/+/records"
STORED_FILTER = "tcuq/+/+/stored"

Kind = Literal["record", "records", "stored"]

NAME = "[a-z0-9-]{1,32}"  # of a site or a gateway
_NAME = re.compile(NAME)
_DEVICE = re.compile(r"[0-9a-f]{16}")
_FIRMWARE = re.compile(r"(\d{1,3})\.(\d{1,3})(?:\.(\d{1,5}))?")


class Topic(NamedTuple):
    """A topic's parts; `name` is a device's 16 hexadecimal digits, or a gateway."""

    site: str
    name: str
    kind: Kind

    @property
    def device(self) -> int | None:
        """The device, if the name is one."""
        return int(self.name, 16) if _DEVICE.fullmatch(self.name) else None


def device_name(device: int) -> str:
    """16 lowercase hexadecimal digits.

    Examples
    --------
    >>> device_name(0xBEEF)
    '000000000000beef'
    """
    if not 0 <= device < 2**64:
        raise InputError(f"device must lie in 0..2^64-1, got {device}")
    return f"{device:016x}"


def record_topic(site: str, device: int) -> str:
    """Where a device sends its records."""
    return f"tcuq/{_site(site)}/{device_name(device)}/record"


def records_topic(site: str, gateway: str) -> str:
    """Where a gateway sends records of many devices."""
    return f"tcuq/{_site(site)}/{_gateway(gateway)}/records"


def stored_topic(site: str, name: str) -> str:
    """Where a device (its name) or a gateway hears what is stored."""
    if not _DEVICE.fullmatch(name):
        _gateway(name)
    return f"tcuq/{_site(site)}/{name}/stored"


def stored_filter(gateway: str) -> str:
    """Where a gateway hears of all its sites."""
    return f"tcuq/+/{_gateway(gateway)}/stored"


def parse(topic: str) -> Topic:
    """The parts of a topic of ours; InputError if it is none.

    Examples
    --------
    >>> parse("tcuq/plant-7/000000000000beef/record")
    Topic(site='plant-7', name='000000000000beef', kind='record')
    """
    parts = topic.split("/")
    if len(parts) != 4 or parts[0] != "tcuq" or parts[3] not in ("record", "records", "stored"):
        raise InputError(
            f"a topic is tcuq/<site>/<name>/record, records or stored, got {topic[:200]!r}"
        )
    _, site, name, kind = parts
    _site(site)
    is_device = _DEVICE.fullmatch(name) is not None
    if kind == "record" and not is_device:
        raise InputError(f"a device is 16 lowercase hexadecimal digits, got {name[:64]!r}")
    if not is_device or kind == "records":
        _gateway(name)
    return Topic(site, name, cast("Kind", kind))


def firmware_code(version: str) -> int:
    """A version as the record's u32: major u8, minor u8, patch u16.

    Examples
    --------
    >>> hex(firmware_code("1.8"))
    '0x1080000'
    """
    found = _FIRMWARE.fullmatch(version)
    major, minor, patch = (int(part or 0) for part in found.groups()) if found else (-1, 0, 0)
    if not (0 <= major < 256 and minor < 256 and patch < 65536):
        raise InputError(
            f"a firmware is major.minor[.patch], up to 255.255.65535, got {version[:64]!r}"
        )
    return major << 24 | minor << 16 | patch


def firmware_name(code: int) -> str:
    """The version behind the record's u32.

    Examples
    --------
    >>> firmware_name(0x1080000)
    '1.8.0'
    """
    return f"{code >> 24 & 255}.{code >> 16 & 255}.{code & 65535}"


def _site(site: str) -> str:
    if not _NAME.fullmatch(site):
        raise InputError(f"a site is 1 to 32 of a-z, 0-9 and -, got {site[:64]!r}")
    return site


def _gateway(name: str) -> str:
    if not _NAME.fullmatch(name) or _DEVICE.fullmatch(name):
        raise InputError(
            f"a gateway is 1 to 32 of a-z, 0-9 and -, and no device's 16 digits, got {name[:64]!r}"
        )
    return name
