# SPDX-License-Identifier: Apache-2.0
"""The golden records follow the specification, and the runtime encodes them."""

import hashlib
import hmac
import struct
import zlib
from typing import Any

import pytest

from tcuq.telemetry import Keys, decode
from tests.fixtures.firmware.golden import device_key, golden

RECORDS = golden()["records"]
# docs/spec/record.md, field by field, bytes 0 to 82.
COMMON = struct.Struct("<BBQIIIIHHbbIIIIHB16H")
NAMES = (
    "cause", "device", "profile", "firmware", "boot", "sequence", "threshold", "epoch",
    "evidence", "closed", "steps", "abstained", "denied", "exceeded", "alarms", "histogram_shift",
)  # fmt: skip


def common(version: int, fields: dict[str, Any]) -> bytes:
    """Encode bytes 0 to 82 by the specification alone."""
    return COMMON.pack(version, *(fields[name] for name in NAMES), *fields["histogram"])


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["name"])
def test_version_1_is_as_specified(record: dict[str, Any]) -> None:
    """Version 1 is 87 bytes: the fields, then their CRC-32."""
    head = common(1, record["fields"])
    expected = head + zlib.crc32(head).to_bytes(4, "little")
    assert bytes.fromhex(record["version_1"]) == expected
    assert len(expected) == 87


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["name"])
def test_version_2_is_as_specified(record: dict[str, Any]) -> None:
    """Version 2 is 96 bytes: the fields, the key id, 12 bytes of HMAC by the device's key."""
    head = common(2, record["fields"]) + bytes([golden()["key_id"]])
    tag = hmac.digest(device_key(record["fields"]["device"]), head, hashlib.sha256)[:12]
    assert bytes.fromhex(record["version_2"]) == head + tag
    assert len(head + tag) == 96


@pytest.mark.parametrize("record", golden()["records"], ids=lambda r: r["name"])
def test_golden_records_decode_to_their_fields(record: dict[str, Any]) -> None:
    """Both versions decode to the original fields."""
    keys = Keys({golden()["key_id"]: bytes.fromhex(golden()["master_key"])})
    for name, used in (("version_1", None), ("version_2", keys)):
        decoded = decode(bytes.fromhex(record[name]), used)
        assert not decoded.refused
        for field, value in record["fields"].items():
            assert decoded.records[0][field].tolist() == value
