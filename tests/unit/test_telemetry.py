# SPDX-License-Identifier: Apache-2.0
"""Telemetry records: golden ones follow the specification, others are decoded or refused."""

import hashlib
import hmac
import json
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tcuq
from tcuq.errors import InputError
from tcuq.telemetry import (
    CHECKED,
    MEANS,
    PLAIN,
    Keys,
    Reason,
    cause_text,
    decode,
    to_arrow,
)
from tests.fixtures.firmware.golden import device_key, golden

MASTER = bytes(range(32))
KEYS = Keys({3: MASTER})
RECORDS = golden()["records"]
# docs/spec/record.md, field by field, bytes 0 to 92.
COMMON = struct.Struct("<BBQIIIIbBHbbIIIIHB16H5H")
NAMES = (
    "cause", "device", "profile", "firmware", "boot", "sequence", "change", "label", "epoch",
    "evidence", "closed", "steps", "abstained", "denied", "exceeded", "alarms", "histogram_shift",
)  # fmt: skip


@pytest.fixture(scope="module")
def true_record(profile: tcuq.Profile, test_stream: tcuq.Stream) -> bytes:
    """Return the C runtime's record after 500 steps."""
    monitor = tcuq.Monitor(profile)
    monitor.run(test_stream.posteriors[:500], np.asarray(test_stream.features)[:500])
    return monitor.record(device=2**63 + 5, firmware=0x01080000, boot=7, sequence=9)


def signed(record: bytes, device: int, key: int = 3) -> bytes:
    """Sign the record as version 4, by the specification and not by the library."""
    pseudorandom = hmac.new(bytes(32), MASTER, hashlib.sha256).digest()
    info = b"tcuq record" + device.to_bytes(8, "little") + b"\x01"
    device_key = hmac.new(pseudorandom, info, hashlib.sha256).digest()
    body = b"\x04" + record[1:CHECKED] + bytes([key])
    return body + hmac.new(device_key, body, hashlib.sha256).digest()[:12]


def reasons(decoded: Any) -> list[Reason]:
    """Return the reason of each refusal."""
    return [reason for reason, _ in decoded.refused]


def test_what_the_device_encodes_is_decoded(true_record: bytes, profile: tcuq.Profile) -> None:
    """Identity and counters are decoded as encoded; a number that is too wide is refused."""
    decoded = decode(true_record)
    assert not decoded.refused
    (one,) = decoded.records
    assert (one["device"], one["boot"], one["sequence"], one["epoch"]) == (2**63 + 5, 7, 9, 0)
    assert (one["firmware"], one["steps"], one["histogram"].sum()) == (0x01080000, 500, 500)
    monitor = tcuq.Monitor(profile)
    with pytest.raises(InputError, match=r"boot must lie in 0..2\^32-1, got 4294967296"):
        monitor.record(device=1, firmware=1, boot=2**32, sequence=0)


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (0x00, ""), (0x01, "risk"), (0x02, "novelty"), (0x03, "divergence"), (0x04, "instability"),
        (0x05, "input health: level"), (0xF5, "input health: statistic 16"),
        (0x07, "channel 7"), (0x09, "risk"),
    ],
)  # fmt: skip
def test_a_cause_has_words(cause: int, text: str) -> None:
    """Every channel has its name, and a statistic without a name its number."""
    assert cause_text(cause, ["level"]) == text


@given(st.integers(0, 97 * 8 - 1))
def test_any_flipped_bit_is_detected(true_record: bytes, bit: int) -> None:
    """A record with one flipped bit is refused."""
    damaged = bytearray(true_record)
    damaged[bit // 8] ^= 1 << bit % 8
    decoded = decode(bytes(damaged))
    assert not len(decoded.records)
    assert len(decoded.refused) == 1


@given(st.binary(max_size=600))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    """Any bytes are decoded or refused, all of them, without an exception."""
    decoded = decode(data)
    assert sum(len(payload) for _, payload in decoded.refused) + 97 * len(decoded.records) in (
        len(data),
        len(data) // 97 * 97,
    )
    assert not decode(data, KEYS).records.size


def test_damaged_records_do_not_affect_valid_ones(true_record: bytes) -> None:
    """A damaged record is refused and its neighbours are decoded."""
    rows = np.frombuffer(true_record * 20_000, np.uint8).reshape(-1, 97).copy()
    rows[[5, 9000, 19_999], 33] ^= 4
    decoded = decode(rows)
    assert len(decoded.records) == 19_997
    assert reasons(decoded) == [Reason.CHECKSUM] * 3


def sealed(**fields: int) -> bytes:
    """Return a record of 100 steps with these fields and a valid checksum."""
    one = np.zeros(1, PLAIN)
    one["version"], one["steps"] = 3, 100
    one["histogram"][0, 0] = 100
    for name, value in fields.items():
        one[name] = value
    one["checksum"] = zlib.crc32(one.tobytes()[:CHECKED])
    return one.tobytes()


@pytest.mark.parametrize(
    "fields",
    [
        {"abstained": 101},
        {"abstained": 60, "denied": 41},
        {"exceeded": 101},
        {"alarms": 101},
        {"steps": 99},
        {"histogram_shift": 32},
        {"expected_error": 16385},
        {"label_changes": 16385},
    ],
)
def test_impossible_counters_are_refused(fields: dict[str, int]) -> None:
    """More outcomes than steps, a histogram of other steps, or a share above 1 is refused."""
    assert reasons(decode(sealed(**fields))) == [Reason.COUNTERS]


def test_wrapped_counters_and_other_versions_are_no_damage() -> None:
    """After 2^32 steps counters may wrap; a newer version or another size has its own reason."""
    assert len(decode(sealed(steps=5, abstained=400, histogram_shift=13)).records) == 1
    for version, size in ((1, 87), (2, 96), (5, 97)):
        assert reasons(decode(bytes([version]) + bytes(size - 1))) == [Reason.VERSION]
    assert reasons(decode(b"\x03" + bytes(95))) == [Reason.SIZE]
    assert reasons(decode(b"")) == [Reason.SIZE]


def test_signatures_and_keys_are_checked(true_record: bytes) -> None:
    """A signed record needs its key, unsigned or changed ones are refused; keys never show."""
    good = signed(true_record, 2**63 + 5)
    assert len(decode(good, KEYS).records) == 1
    assert reasons(decode(good)) == [Reason.KEY]
    assert reasons(decode(good, Keys({4: MASTER}))) == [Reason.KEY]
    assert reasons(decode(good, Keys({3: bytes(32)}))) == [Reason.TAG]
    assert reasons(decode(signed(true_record, 6), KEYS)) == [Reason.TAG]
    assert reasons(decode(true_record, KEYS)) == [Reason.UNSIGNED]
    for at in (1, 30, 93, 105):
        changed = bytearray(good)
        changed[at] ^= 1
        assert reasons(decode(bytes(changed), KEYS))[0] in (Reason.TAG, Reason.KEY)
    assert MASTER.hex() not in repr(KEYS)
    assert repr(KEYS) == "Keys(ids=[3])"
    with pytest.raises(InputError, match="at least 16 bytes, got 3"):
        Keys({1: b"abc"})
    with pytest.raises(InputError, match=r"0\.\.255, got 256"):
        Keys({256: MASTER})


def test_records_as_arrow(true_record: bytes) -> None:
    """There is one column per field, unsigned as in the record."""
    batch = to_arrow(decode(true_record * 3).records)
    assert batch.num_rows == 3
    assert batch.column("device").to_pylist() == [2**63 + 5] * 3
    assert json.loads(json.dumps(batch.column("histogram").to_pylist()[0]))[0] >= 0


def common(version: int, fields: dict[str, Any]) -> bytes:
    """Encode bytes 0 to 92 by the specification alone."""
    return COMMON.pack(
        version,
        *(fields[name] for name in NAMES),
        *fields["histogram"],
        *(fields[name] for name in MEANS),
    )


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["name"])
def test_golden_records_are_as_specified(record: dict[str, Any]) -> None:
    """Version 3 is 97 bytes with a CRC-32; version 4 is 106 with a key id and 12 bytes of HMAC."""
    head = common(3, record["fields"])
    expected = head + zlib.crc32(head).to_bytes(4, "little")
    assert (bytes.fromhex(record["plain"]), len(expected)) == (expected, 97)
    head = common(4, record["fields"]) + bytes([golden()["key_id"]])
    expected = head + hmac.digest(device_key(record["fields"]["device"]), head, hashlib.sha256)[:12]
    assert (bytes.fromhex(record["signed"]), len(expected)) == (expected, 106)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["name"])
def test_golden_records_decode_to_their_fields(record: dict[str, Any]) -> None:
    """Both versions decode to the original fields."""
    keys = Keys({golden()["key_id"]: bytes.fromhex(golden()["master_key"])})
    for name, used in (("plain", None), ("signed", keys)):
        decoded = decode(bytes.fromhex(record[name]), used)
        assert not decoded.refused
        for field, value in record["fields"].items():
            assert decoded.records[0][field].tolist() == value
