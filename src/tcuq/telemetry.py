# SPDX-License-Identifier: Apache-2.0
"""Telemetry records, decoded in bulk (docs/spec/record.md); the device's C encodes them.

The bytes are untrusted: a record that breaks a rule is refused with a reason, without an exception.
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq._extras import import_extra
from tcuq.causes import HEALTH, meaning
from tcuq.errors import InputError
from tcuq.runtime import checksums

Array = NDArray[Any]

_FIELDS: tuple[tuple[Any, ...], ...] = (
    ("version", "u1"),
    ("cause", "u1"),
    ("device", "<u8"),
    ("profile", "<u4"),
    ("firmware", "<u4"),
    ("boot", "<u4"),
    ("sequence", "<u4"),
    ("change", "i1"),  # of the last alarm, in eighths
    ("label", "u1"),  # of the last step; 255: another, or none
    ("epoch", "<u2"),
    ("evidence", "i1"),  # log2 of the running epoch's e-value in half bits
    ("closed", "i1"),  # of the epoch before it, if epoch > 0
    ("steps", "<u4"),
    ("abstained", "<u4"),
    ("denied", "<u4"),
    ("exceeded", "<u4"),
    ("alarms", "<u2"),
    ("histogram_shift", "u1"),
    ("histogram", "<u2", (16,)),
    ("expected_error", "<u2"),  # this and the next: means over the last closed epoch
    ("health", "<u2"),
    ("novelty", "<u2"),
    ("confidence", "<u2"),
    ("label_changes", "<u2"),
)
RECORD = np.dtype([*_FIELDS])
CHANNELS = ("risk", "novelty", "divergence", "instability", HEALTH)  # of an alarm's cause
# Means over an epoch: their units per 1.
MEANS = {
    "expected_error": 16384,
    "health": 1024,  # bits of how far the input is from calibration; 0 without input health
    "novelty": 1024,  # bits
    "confidence": 1024,  # -log2 of 1 - confidence
    "label_changes": 16384,
}
NO_MEAN = 65535  # before the first step, and without an alarm
COUNTERS = ("steps", "abstained", "denied", "exceeded", "alarms")  # cumulative since boot
CHECKED = RECORD.itemsize  # bytes that the checksum covers
PLAIN = np.dtype([*_FIELDS, ("checksum", "<u4")])
SIGNED = np.dtype([*_FIELDS, ("key", "u1"), ("tag", "u1", (12,))])
UNSIGNED_VERSION, SIGNED_VERSION = 3, 4
SIZES = {UNSIGNED_VERSION: PLAIN.itemsize, SIGNED_VERSION: SIGNED.itemsize}
# With bins counting every 2^11th step or more often, the device has run fewer than 2^32 steps.
MAX_SHIFT_UNWRAPPED = 11
MIN_KEY_BYTES = 16
EIGHTHS = 8  # of a change of 1
AMBER = 8  # bit of the cause: much evidence, and no alarm yet
TAG_BYTES = 12
BLOCK = 8192  # records checked together: they stay in a core's cache


class Reason(IntEnum):
    """Why a message or a record is refused; each is a row of the dead letters."""

    FINE = 0
    SIZE = 1
    VERSION = 2
    CHECKSUM = 3
    UNSIGNED = 4
    KEY = 5
    TAG = 6
    COUNTERS = 7
    TOPIC = 8
    DEVICE = 9
    GATEWAY = 10  # not a gateway, or not for this site
    QUOTA = 11  # the sender's messages or the device's records of this hour are used up
    SITE = 12  # an unknown site, a device of another site, or one that is not enrolled
    RETIRED = 13
    QUARANTINE = 14  # a boot too far beyond the stored one, waiting for its release
    DATABASE = 15  # the device's database, one of several, is away: it is stored when sent again


@dataclass(frozen=True, slots=True)
class Decoded:
    """The valid records of a buffer, and the refused ones with their reasons."""

    records: Array
    refused: list[tuple[Reason, bytes]]

    @property
    def promise_void(self) -> NDArray[np.bool_]:
        """Tell for each record whether an alarm voids a promise that its profile makes.

        A promise on the accepted error is void from an alarm until it is acknowledged or reset.
        """
        void: NDArray[np.bool_] = (self.records["cause"] & (255 - AMBER)) != 0
        return void


# HMAC-SHA-256 (RFC 2104) by two plain hashes: `hmac.digest` takes half as long again, which workers
# notice. A key of 32 bytes is filled up to a block of 64.
_FILL = bytes(32)
_INNER = bytes(value ^ 0x36 for value in range(256))
_OUTER = bytes(value ^ 0x5C for value in range(256))


def _hmac(key: bytes, message: bytes) -> bytes:
    """Return the HMAC-SHA-256 of a message by a key of 32 bytes."""
    block = key + _FILL
    inner = hashlib.sha256(block.translate(_INNER) + message).digest()
    return hashlib.sha256(block.translate(_OUTER) + inner).digest()


def _started(key: bytes) -> "tuple[hashlib._Hash, hashlib._Hash]":
    """Return inner and outer hash of an HMAC by a key of 32 bytes, for copies to go on from."""
    block = key + _FILL
    return hashlib.sha256(block.translate(_INNER)), hashlib.sha256(block.translate(_OUTER))


class Keys:
    """Master keys by id, from which each device's key is derived (HKDF-SHA-256, RFC 5869).

    Parameters
    ----------
    masters
        Key id, 0 to 255, to at least 16 secret bytes. Rotation: add an id, move the devices to it,
        remove the old one.

    Examples
    --------
    >>> keys = Keys({1: bytes(range(32))})
    >>> keys
    Keys(ids=[1])
    >>> len(keys.device_key(1, device=7))
    32
    """

    def __init__(self, masters: Mapping[int, bytes]) -> None:
        for key_id, master in masters.items():
            if not 0 <= key_id <= 255:
                raise InputError(f"a key's id must lie in 0..255, got {key_id}")
            if len(master) < MIN_KEY_BYTES:
                raise InputError(
                    f"master key {key_id} must have at least {MIN_KEY_BYTES} bytes,"
                    f" got {len(master)}"
                )
        self._derive = {
            key_id: _started(hmac.digest(bytes(32), master, "sha256"))
            for key_id, master in masters.items()
        }
        self.device_key: Callable[[int, int], bytes] = lru_cache(maxsize=1 << 17)(self._device_key)

    def __repr__(self) -> str:
        return f"Keys(ids={self.ids})"

    @property
    def ids(self) -> list[int]:
        """The ids of the master keys."""
        return sorted(self._derive)

    def _device_key(self, key_id: int, device: int) -> bytes:
        return self._derived(b"tcuq record", key_id, device)

    def profile_key(self, key_id: int, device: int) -> bytes:
        """Return the key that signs a device's profiles: another one than signs its records."""
        return self._derived(b"tcuq profile", key_id, device)

    def _derived(self, purpose: bytes, key_id: int, device: int) -> bytes:
        inner, outer = (half.copy() for half in self._derive[key_id])
        inner.update(purpose + device.to_bytes(8, "little") + b"\x01")
        outer.update(inner.digest())
        return outer.digest()

    def tag(self, key_id: int, device: int, signed: bytes) -> bytes:
        """Return the 12-byte tag that authenticates these bytes as the device's."""
        return hmac.digest(self.device_key(key_id, device), signed, "sha256")[:TAG_BYTES]

    def tags(self, key_ids: Array, devices: Array, rows: Array) -> Array:
        """Return the tags of many rows of bytes, which need known keys; much faster than `tag`."""
        data, size, key = rows.tobytes(), rows.shape[1], self.device_key
        pairs = zip(key_ids.tolist(), devices.tolist(), range(0, len(data), size), strict=True)
        tags = [
            _hmac(key(key_id, device), data[at : at + size])[:TAG_BYTES]
            for key_id, device, at in pairs
        ]
        return np.frombuffer(b"".join(tags), np.uint8).reshape(-1, TAG_BYTES)


def decode(buffer: bytes | bytearray | memoryview | Array, keys: Keys | None = None) -> Decoded:
    """Decode consecutive records of one version into a structured array; list refused ones apart.

    With keys, only signed records are accepted.

    Examples
    --------
    >>> decoded = decode(b"no record at all")
    >>> decoded.records.size, decoded.refused[0][0].name
    (0, 'VERSION')
    """
    raw = np.frombuffer(buffer, np.uint8)
    size = SIZES.get(int(raw[0]), 0) if raw.size else 1
    if raw.size == 0 or size == 0 or raw.size % size:
        reason = Reason.SIZE if size else Reason.VERSION
        return Decoded(np.empty(0, RECORD), [(reason, raw.tobytes())])
    rows = raw.reshape(-1, size)
    reasons = checked(rows, keys)
    records = rows[:, :CHECKED].view(RECORD)[:, 0]
    bad = np.flatnonzero(reasons)
    if not bad.size:
        return Decoded(records, [])
    refused = [(Reason(int(reasons[i])), rows[i].tobytes()) for i in bad]
    return Decoded(records[reasons == Reason.FINE], refused)


def encode(records: Array) -> bytes:
    """Encode records as unsigned ones, with their checksums; the inverse of `decode`."""
    plain = np.zeros(len(records), PLAIN)
    for name in RECORD.names or ():
        plain[name] = records[name]
    plain["version"] = UNSIGNED_VERSION
    return sealed(plain).tobytes()


def sealed(plain: Array) -> Array:
    """Write the checksums of unsigned records into them, and return them."""
    rows = plain.view(np.uint8).reshape(len(plain), -1)
    crcs = np.empty(len(plain), np.uint32)
    checksums(rows, rows.shape[1], CHECKED, crcs)
    plain["checksum"] = crcs
    return plain


def checked(rows: Array, keys: Keys | None = None) -> NDArray[np.uint8]:
    """Return, for each row of 97 or 106 bytes, the Reason to refuse it, or FINE."""
    unsigned = rows.shape[1] == PLAIN.itemsize
    version = UNSIGNED_VERSION if unsigned else SIGNED_VERSION
    records = rows.view(PLAIN if unsigned else SIGNED)[:, 0]
    reasons = np.empty(len(rows), np.uint8)
    for block in (slice(at, at + BLOCK) for at in range(0, len(rows), BLOCK)):
        reasons[block] = _reasons(rows[block], records[block], version, keys)
    return reasons


def _reasons(rows: Array, records: Array, version: int, keys: Keys | None) -> NDArray[np.uint8]:
    """Return for each record the first rule it breaks, or FINE."""
    reasons = np.full(len(rows), Reason.FINE, np.uint8)
    if version == UNSIGNED_VERSION and keys is None:
        computed = np.empty(len(rows), np.uint32)
        checksums(rows, rows.shape[1], CHECKED, computed)
        reasons[computed != records["checksum"]] = Reason.CHECKSUM
    elif version == UNSIGNED_VERSION:
        reasons[:] = Reason.UNSIGNED
    else:
        reasons[:] = _signatures(rows, records, keys)
    reasons[records["version"] != version] = Reason.VERSION
    fine = reasons == Reason.FINE
    reasons[fine & _impossible(records)] = Reason.COUNTERS
    return reasons


def _signatures(rows: Array, records: Array, keys: Keys | None) -> NDArray[np.uint8]:
    """Return KEY, TAG or FINE for each signed record; the time does not depend on the tags."""
    reasons = np.full(len(rows), Reason.KEY, np.uint8)
    if keys is not None:
        known = np.flatnonzero(np.isin(records["key"], keys.ids))
        some = records[known]
        right = keys.tags(some["key"], some["device"], rows[known, : CHECKED + 1])
        wrong = np.bitwise_or.reduce(right ^ some["tag"], axis=1) != 0
        reasons[known] = np.where(wrong, Reason.TAG, Reason.FINE)
    return reasons


def _impossible(records: Array) -> NDArray[np.bool_]:
    """Mark impossible shares; impossible counters where the steps cannot have wrapped yet."""
    steps = records["steps"].astype(np.int64)
    shift = records["histogram_shift"]
    requests = records["abstained"].astype(np.int64) + records["denied"]
    more = (requests > steps) | (records["exceeded"] > steps) | (records["alarms"] > steps)
    counted = records["histogram"].sum(axis=1, dtype=np.int64)
    return np.asarray(
        (shift > 31)
        | ((shift <= MAX_SHIFT_UNWRAPPED) & more)
        | ((shift == 0) & (counted != steps))
        | _above_one(records["expected_error"])
        | _above_one(records["label_changes"]),
        np.bool_,
    )


def _above_one(shares: Array) -> NDArray[np.bool_]:
    return np.asarray((shares > MEANS["expected_error"]) & (shares != NO_MEAN), np.bool_)


def mean_of(records: Array, name: str) -> NDArray[np.float64]:
    """Return each record's mean of MEANS over its last closed epoch; NaN if it has none.

    While no epoch has closed, it is of the first one so far.

    Examples
    --------
    >>> mean_of(np.array([(1024,), (65535,)], [("novelty", "<u2")]), "novelty").tolist()
    [1.0, nan]
    """
    return np.where(records[name] == NO_MEAN, np.nan, records[name] / MEANS[name])


def estimated_accuracy(records: Array) -> NDArray[np.float64]:
    """Return each record's estimated share of right labels in its epoch; NaN if it has none.

    Examples
    --------
    >>> from tcuq.demo import demo_profile, demo_stream
    >>> from tcuq.monitor import Monitor
    >>> monitor = Monitor(demo_profile())
    >>> trace = monitor.run(demo_stream("test"))
    >>> record = monitor.record(device=1, firmware=1, boot=0, sequence=0)
    >>> accuracy = estimated_accuracy(decode(record).records)[0]
    >>> float((accuracy + trace.expected_error.mean()).round(3))
    1.0
    """
    return 1 - mean_of(records, "expected_error")


def cause_text(cause: int, health_names: Sequence[str] = ()) -> str:
    """Return a record's cause in words; "" before the device's first alarm.

    `health_names` are the profile's names of its health statistics, where they are known.

    Examples
    --------
    >>> cause_text(2), cause_text(0x25), cause_text(0x15, ["level", "roughness"])
    ('novelty', 'input health: statistic 3', 'input health: roughness')
    """
    channel, statistic = cause & 7, cause >> 4
    if not 1 <= channel <= len(CHANNELS):
        return "" if channel == 0 else f"channel {channel}"
    if channel < len(CHANNELS):
        return CHANNELS[channel - 1]
    known = statistic < len(health_names)
    name = health_names[statistic] if known else f"statistic {statistic + 1}"
    return f"{CHANNELS[-1]}: {name}"


def record_meaning(record: Any, health_names: Sequence[str] = ()) -> str:  # noqa: ANN401 - a row
    """Return what a record's last alarm means, in one sentence; "" before the first alarm.

    Examples
    --------
    >>> row = np.zeros((), RECORD)
    >>> row["cause"], row["change"] = 0x05, -16
    >>> record_meaning(row, ["microphone level"])
    'The microphone level fell to a quarter.'
    """
    cause = cause_text(int(record["cause"]), health_names)
    return meaning(cause, int(record["change"]) / EIGHTHS, int(record["label"]))


def to_arrow(records: Array) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return records as an Arrow batch, one column per field, for other data systems."""
    pa = import_extra("pyarrow", "parquet")
    columns = {}
    for name in RECORD.names or ():
        column = np.ascontiguousarray(records[name])
        columns[name] = (
            pa.FixedSizeListArray.from_arrays(column.reshape(-1), column.shape[1])
            if column.ndim == 2
            else pa.array(column)
        )
    return pa.record_batch(columns)
