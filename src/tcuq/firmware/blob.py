# SPDX-License-Identifier: Apache-2.0
"""A profile as a blob: authenticated bytes that firmware loads over the air (docs/spec/blob.md)."""

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any, TypedDict, Unpack

import numpy as np

from tcuq.errors import ExportError
from tcuq.firmware.header import INTEGERS, Member, number, structs
from tcuq.firmware.profile_c import memory
from tcuq.firmware.selftest import DWELL, ROWS, Vectors, vectors
from tcuq.firmware.signing import SIGNATURE_BYTES, Signer, device_signer
from tcuq.profile import Profile
from tcuq.profile.quantize import quantize
from tcuq.stream import Stream

Spec = Mapping[str, Any]

MAGIC, FORMAT = b"TCUB", 2
HEAD = struct.Struct("<4sHHIIII")
SELFTEST = struct.Struct("<HBBI")
LABEL_END = struct.Struct("<IIBBH")  # product, expiry, number of the key, bytes of the tag
CHAINED = struct.Struct("<IHHHHiIBBBBBBB")
MAX_NUMBER = 0xFFFFFFFF
# Runs of a struct's members that stand in a blob as in memory: first and last.
PROFILE_RUNS = (
    ("lag_count", "withhold_denied"), ("classes", "weights"), ("bias_q16", "burst_q16"),
    ("alarm_limit", "epoch_steps"),
)  # fmt: skip
TERM_RUN, CHANNEL_RUN = ("signal", "start_q10"), ("signal", "reserved_end")


class Label(TypedDict, total=False):
    """What a blob says beside its profile; ``tcuq.firmware.profile_blob`` documents it."""

    product: int
    expires: int
    stream: Stream | None


def profile_blob(profile: Profile, *, number: int, signer: Signer, **label: Unpack[Label]) -> bytes:
    """Return a profile as a blob for firmware that was exported with ``ota``.

    Parameters
    ----------
    profile
        From ``tcuq.fit`` or ``Profile.load``. Its inputs must be those of the firmware's profile,
        and it may need no more memory.
    number
        1 to 4,294,967,295, higher than that of any blob before: firmware refuses a number twice.
    signer
        ``hmac_signer`` or ``device_signer`` for one device, ``private_signer`` for all.
    product
        Identifier that the firmware was built with; 0 by default.
    expires
        Seconds since 1970 from which no device activates the blob; 0, the default: never.
    stream
        A recorded stream to take the self-test's steps from; synthetic steps if None.

    Examples
    --------
    >>> from tcuq.demo import demo_profile
    >>> from tcuq.firmware import hmac_signer
    >>> blob = profile_blob(demo_profile(), number=1, signer=hmac_signer(bytes(range(32))))
    >>> blob[:4], len(blob) % 4
    (b'TCUB', 0)
    """
    body = _body(profile, number, signer, label)
    return body + signer.sign(body)


def device_blobs(
    profile: Profile,
    *,
    number: int,
    master: bytes,
    devices: Iterable[int],
    key_number: int = 0,
    **label: Unpack[Label],
) -> Iterator[tuple[int, bytes]]:
    """Yield each device's id and blob, signed by the key that is derived for it from a master."""
    body = b""
    for device in devices:
        signer = device_signer(master, device, key_number=key_number)
        body = body or _body(profile, number, signer, label)
        yield device, body + signer.sign(body)


def _body(profile: Profile, number: int, signer: Signer, label: Label) -> bytes:
    """Everything but the tag."""
    if not 1 <= number <= MAX_NUMBER:
        raise ExportError(f"a blob's number must lie in 1..{MAX_NUMBER}, got {number}")
    product, expires = label.get("product", 0), label.get("expires", 0)
    for name, value in (("product", product), ("expires", expires)):
        if not 0 <= value <= MAX_NUMBER:
            raise ExportError(f"{name} must lie in 0..{MAX_NUMBER}, got {value}")
    end = LABEL_END.pack(product, expires, signer.key_number, signer.tag_bytes, 0)
    steps = vectors(profile, label.get("stream"))
    return _unsigned(profile, quantize(profile), steps, number, end)


def inputs_id(profile: Profile) -> int:
    """Return the identifier of a profile's inputs: what firmware quantises, and how."""
    inputs, health = profile.inputs, profile.signals.health_names if profile.alarm else ()
    facts = [inputs.classes, inputs.width, inputs.kind, inputs.feature_scale, list(health)]
    if inputs.outputs is not None:
        facts += astuple(inputs.outputs)
    return int(hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:8], 16)


def room_c(profile: Profile, spec: Spec, *, telemetry: bool) -> str:
    """Return the C text of the memory for a loaded profile, and of the monitor that uses it."""
    terms, channels = len(spec["terms"] or ()), len(spec["channels"] or ())
    label = LABEL_END.pack(0, 0, 0, SIGNATURE_BYTES, 0)
    size = len(_unsigned(profile, spec, vectors(profile), 1, label)) - HEAD.size
    arrays = [name for _, name, _ in memory(spec, telemetry=telemetry)]
    return "\n".join(
        [
            "\nstatic tcuq_profile ota_profile;",
            f"static tcuq_term ota_terms[{max(terms, 1)}];",
            "#if !TCUQ_BLOB_IN_PLACE",
            f"static uint64_t ota_tables[{-(-size // 8)}];",
            "#endif",
            "\nconst tcuq_room tcuq_device_room = {",
            "    .profile = &ota_profile,",
            "    .terms = ota_terms,",
            "#if !TCUQ_BLOB_IN_PLACE",
            "    .tables = ota_tables,",
            "    .table_bytes = sizeof ota_tables,",
            "#endif",
            f"    .inputs = {inputs_id(profile):#010x}u,",
            f"    .classes = {spec['classes']},",
            f"    .width = {spec['width']},",
            f"    .health_count = {spec['health_count']},",
            f"    .past = {max(spec['lags'])},",
            f"    .dimensions = {spec['dimensions']},",
            f"    .term_count = {terms},",
            f"    .channel_count = {channels},",
            "};",
            "\ntcuq_monitor tcuq_device_ota = {",
            "    .profile = &ota_profile,",
            *(f"    .{name} = state_{name}," for name in arrays),
            "};\n",
        ]
    )


def _unsigned(
    profile: Profile, spec: Spec, steps: Vectors, blob_number: int, label: bytes
) -> bytes:
    """Everything but the tag."""
    bytes_, *words = (_run("tcuq_profile", run, _flat(spec)) for run in PROFILE_RUNS)
    reduced = 1 if spec["projection"] is not None else 2 if spec["selection"] is not None else 0
    scalars = b"".join(run + bytes(-len(run) % 4) for run in (bytes_ + bytes([reduced]), *words))
    selftest = SELFTEST.pack(steps.count, ROWS, DWELL, _chain(steps))
    tables = b"".join(table + bytes(-len(table) % 4) for table in _tables(spec, steps))
    fixed = scalars + selftest + label
    total = HEAD.size + len(fixed) + len(tables) + LABEL_END.unpack(label)[3]
    head = HEAD.pack(
        MAGIC, FORMAT, number("TCUQ_PROFILE_FORMAT"), total, blob_number, spec["hash"],
        inputs_id(profile),
    )  # fmt: skip
    return head + fixed + tables


def _tables(spec: Spec, steps: Vectors) -> Iterator[bytes]:
    """Every table in the order of the blob; an absent one is empty."""
    for name in ("whitening", "mean_squares", "projection_bias"):
        yield spec[name] or b""
    for channel in spec["channels"] or ():
        yield _run("tcuq_channel", CHANNEL_RUN, channel)
    for term in spec["terms"] or ():
        yield _run("tcuq_term", TERM_RUN, term)
        yield from (term["points"], term["bits_q10"])
    rest = ("means", "lag_weights_q15", "health_means", "health_weights_q9", "whitening_shift")
    for name in (*rest, "projection", "selection"):
        yield spec[name] or b""
    yield steps.posteriors.tobytes()
    yield b"" if steps.features is None else steps.features.tobytes()
    if spec["health_count"]:
        if steps.health is None:
            raise ExportError("the self-test's stream must have the profile's input health")
        yield steps.health.astype("<i2").tobytes()


def _flat(spec: Spec) -> dict[str, Any]:
    """The profile's scalars by name, with its counts; lags filled up to their array."""
    lags = bytes(spec["lags"])
    counts = {f"{name}_count": len(spec[f"{name}s"] or ()) for name in ("term", "channel")}
    filled = lags + bytes(number("TCUQ_MAX_LAGS") - len(lags))
    return {**spec, **counts, "lag_count": len(lags), "lags": filled}


def _run(struct_name: str, run: tuple[str, str], values: Spec) -> bytes:
    """Members from the first to the last as little-endian bytes."""
    members = structs()[struct_name]
    names = [member.name for member in members]
    chosen = members[names.index(run[0]) : names.index(run[1]) + 1]
    return b"".join(_encoded(member, values.get(member.name, 0)) for member in chosen)


def _encoded(member: Member, value: int | bytes | Sequence[int]) -> bytes:
    if isinstance(value, bytes):
        return value
    return np.array(value, INTEGERS[member.ctype]).tobytes()


def _chain(steps: Vectors) -> int:
    """One number for all decisions: each is checksummed behind the number so far."""
    columns = (
        "label", "steady_label", "risk", "expected_error", "threshold_q16", "novelty_q10",
        "exceeded", "reason", "outcome", "withheld", "alarm", "amber", "cause",
    )  # fmt: skip
    rows = zip(*(steps.decisions[name].tolist() for name in columns), strict=True)
    chain = 0
    for row in rows:
        chain = zlib.crc32(CHAINED.pack(chain, *row))
    return chain
