# SPDX-License-Identifier: Apache-2.0
"""Blobs: a loaded profile decides as on the host; broken, forged and old blobs are refused."""

import ctypes
import json
import re
import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tcuq
from tcuq.demo import demo_profile
from tcuq.errors import ExportError
from tcuq.firmware import hmac_signer, profile_blob
from tcuq.firmware.blob import HEAD, LABEL_END, PROFILE_RUNS, inputs_id
from tcuq.firmware.header import structs
from tcuq.monitor import Monitor
from tcuq.profile.quantize import quantize
from tcuq.telemetry import decode
from tests.fixtures.conformance import quiet_fit
from tests.fixtures.firmware.blob_damage import DAMAGES, HEAD_BYTES, TAG_BYTES, signed
from tests.fixtures.firmware.blob_device import (
    ALIGNMENT,
    DAMAGED,
    FORGED,
    FORMAT,
    INPUTS,
    KEY_NUMBER,
    OK,
    OLD,
    OTHER_PRODUCT,
    PRODUCT,
    PROFILE,
    ROOM,
    SELFTEST,
    BlobDevice,
)
from tests.fixtures.firmware.toolchain import HERE, M4, OTA, RUNTIME, UPLINK, run
from tests.fixtures.pages import ROOT, blocks, check_console
from tests.fixtures.random_profiles import random_profile
from tests.ota.conftest import KEY, blob_of

DECISION = struct.Struct("<HHHHiI6BH")
SHORT = 2000  # damaged blobs; tools.measurements.blob tries 100,000
PATH = "docs/howto/ota.md"
PAGE = (ROOT / PATH).read_text("utf-8")


def changed(blob: bytes, at: int, value: bytes) -> bytes:
    """A blob with some bytes replaced, and the true tag of that: as the holder of the key might."""
    body = blob[:-TAG_BYTES]
    return signed(body[:at] + value + body[at + len(value) :], KEY)


def test_every_member_of_a_profile_is_in_the_blob(profile: tcuq.Profile) -> None:
    """Members are in the head, in a run or in a table; a new member of the runtime fails here."""
    names = [member.name for member in structs()["tcuq_profile"]]
    runs = [
        name
        for first, last in PROFILE_RUNS
        for name in names[names.index(first) : names.index(last) + 1]
    ]
    tables = [m.name for m in structs()["tcuq_profile"] if m.shape == "pointer"]
    assert sorted([*runs, *tables, "format", "hash"]) == sorted(names)
    blob = blob_of(profile, 9)
    magic, form, _, total, number, name, inputs = HEAD.unpack_from(blob)
    assert (magic, form, total, number) == (b"TCUB", 2, len(blob), 9)
    assert (name, inputs) == (quantize(profile)["hash"], inputs_id(profile))
    assert LABEL_END.unpack_from(blob, 116) == (PRODUCT, 0, KEY_NUMBER, TAG_BYTES, 0)
    assert blob == blob_of(profile, 9)


def test_a_loaded_profile_decides_as_the_host(
    device: BlobDevice, newer: tcuq.Profile, test_stream: tcuq.Stream
) -> None:
    """1,000 steps on the loaded profile are the host's, bit for bit; the record has its name."""
    assert device.install(blob_of(newer, 1)) == OK
    monitor = Monitor(newer)
    field = test_stream[:1000]
    rows, features = monitor.quantize(field.posteriors, field.features)
    trace = monitor.run(rows, features)
    assert features is not None
    buffer = ctypes.create_string_buffer(DECISION.size)
    for step, (row, columns) in enumerate(zip(rows, features, strict=True)):
        device.library.device_step(row.tobytes(), columns.tobytes(), None, buffer)
        label, risk, _, _, _, novelty, _, outcome, _, _, alarm, *_ = DECISION.unpack(buffer.raw)
        expected = (trace.label[step], trace.risk[step], trace.outcome[step], trace.alarm[step])
        assert (label, risk / 16384, outcome, alarm) == expected, step
        assert novelty / 1024 == trace.novelty[step]
    records = decode(device.record()).records
    assert records["profile"].tolist() == [int(newer.sha256[:8], 16)]
    assert records["steps"].tolist() == [1000]


@pytest.mark.parametrize("seed", [0, 1])
def test_profiles_of_every_shape_load(seed: int, tmp_path: Path) -> None:
    """Random profiles pass their self-test on a device, read in the blob or from a copy."""
    profile = random_profile(seed)
    blob = blob_of(profile, 1)
    for options in ((), ("-DTCUQ_BLOB_COPY",)):
        device = BlobDevice(profile, tmp_path / str(len(options)), KEY, options)
        assert device.load(blob) == OK
        assert device.load(blob + bytes(64)) == OK  # a slot is larger than a blob


def test_projection_and_input_health_load(
    synthetic: Callable[..., tcuq.Stream], tmp_path: Path
) -> None:
    """Wide features, input health and a stream's own steps pass the self-test."""
    plain = synthetic(3000, width=64)
    health = np.random.default_rng(1).normal(size=(len(plain), 3))
    stream = tcuq.Stream(plain.posteriors, plain.features, health=health)
    profile = quiet_fit(stream)
    device = BlobDevice(profile, tmp_path, KEY)
    signer = hmac_signer(KEY, key_number=KEY_NUMBER)
    blob = profile_blob(profile, number=1, signer=signer, product=PRODUCT, stream=stream)
    assert device.load(blob) == OK
    assert quantize(profile)["health_count"] == 3
    assert quantize(profile)["projection"] is not None
    with pytest.raises(ExportError, match="must have the profile's input health"):
        profile_blob(profile, number=1, signer=signer, stream=plain)


@pytest.mark.parametrize("kind", DAMAGES)
def test_broken_blobs_are_refused(kind: str, device: BlobDevice, newer: tcuq.Profile) -> None:
    """Damaged, cut, forged, replayed and downgraded blobs are refused and change nothing."""
    blob = blob_of(newer, 500)
    assert device.install(blob) == OK
    assert device.confirm() == OK
    before, rng = device.state, np.random.default_rng(7)
    damage, expected = DAMAGES[kind]
    for _ in range(SHORT // len(DAMAGES)):
        broken = damage(blob, 500, KEY, rng)
        status = device.install(broken)
        assert status in expected or (status == OLD and broken == blob), (kind, status)
        assert device.state == before
    assert device.start() == OK
    assert device.state == before


def test_cut_blobs_and_blobs_for_other_inputs_are_refused(
    device: BlobDevice, newer: tcuq.Profile, profile: tcuq.Profile
) -> None:
    """A blob that ends early, at any byte, or has features of another scale is refused."""
    blob = blob_of(newer, 1)
    assert {device.load(blob[:end]) for end in range(len(blob))} <= {DAMAGED, FORMAT, FORGED}
    scale = (profile.inputs.feature_scale or 0.0) * 2
    other = replace(newer, inputs=replace(newer.inputs, feature_scale=scale))
    assert device.load(blob_of(other, 1)) == INPUTS


def test_a_true_tag_over_wrong_values(device: BlobDevice, newer: tcuq.Profile) -> None:
    """The holder of the key too cannot load what the firmware cannot run."""
    blob = blob_of(newer, 1)
    longer = blob[:-TAG_BYTES] + bytes(4 + TAG_BYTES)
    words = {
        "lag_count 0": (changed(blob, 24, b"\0"), ROOM),
        "lag_count 9": (changed(blob, 24, b"\x09"), ROOM),
        "a longer lag": (changed(blob, 24 + blob[24], b"\xff"), ROOM),
        "more dimensions": (changed(blob, 33, b"\xff"), ROOM),
        "more channels": (changed(blob, 34, b"\x06"), ROOM),
        "more terms": (changed(blob, 35, b"\x0b"), ROOM),
        "fewer terms": (changed(blob, 35, bytes([blob[35] - 1])), DAMAGED),
        "more means": (changed(blob, 52, b"\xff\xff"), DAMAGED),
        "no rows": (changed(blob, 110, b"\0"), DAMAGED),
        "no dwell": (changed(blob, 111, b"\0"), DAMAGED),
        "one more word": (changed(longer, 8, len(longer).to_bytes(4, "little")), DAMAGED),
        "classes": (changed(blob, 44, b"\x02\0"), INPUTS),
        "inputs": (changed(blob, 20, b"\0\0\0\0"), INPUTS),
        "product": (changed(blob, 116, b"\x01"), OTHER_PRODUCT),
        "key number": (changed(blob, 124, b"\x04"), FORGED),
        "no tag": (changed(blob, 125, b"\0"), DAMAGED),
        "tag of 13 bytes": (changed(blob, 125, b"\x0d"), DAMAGED),
        "tag of a signature": (changed(blob, 125, b"\x40"), FORGED),
        "blend": (changed(blob, 48, b"\xff\xff"), PROFILE),
        "alpha": (changed(blob, 60, b"\0\0"), PROFILE),
        "weights of lags": (changed(blob, 64, b"\xff\xff"), PROFILE),
        "decisions": (changed(blob, 112, bytes(4)), SELFTEST),
        "start": (changed(blob, 64, b"\0\0"), SELFTEST),
        "format 1, without key number and product": (changed(blob, 4, b"\x01"), FORMAT),
        "profile format": (changed(blob, 6, b"\xff"), FORMAT),
        "size of 0": (changed(blob, 8, bytes(4)), DAMAGED),
        "odd size": (changed(blob, 8, (len(blob) - 1).to_bytes(4, "little")), DAMAGED),
    }  # fmt: skip
    assert {name: device.load(bad) for name, (bad, _) in words.items()} == {
        name: status for name, (_, status) in words.items()
    }
    assert device.load(blob) == OK
    assert device.load(blob, least=2) == OLD
    assert device.load(blob, offset=4) == ALIGNMENT
    assert device.load(b"") == DAMAGED
    assert HEAD_BYTES == 128


def test_every_byte_of_a_tag_counts(device: BlobDevice, newer: tcuq.Profile) -> None:
    """A tag with one bit changed in any byte is refused."""
    blob = blob_of(newer, 1)
    for at in range(len(blob) - TAG_BYTES, len(blob)):
        forged = blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :]
        assert device.load(forged) == FORGED, at


def test_what_a_blob_says_is_checked(profile: tcuq.Profile) -> None:
    """Numbers, products, days and keys out of range are refused."""
    for number in (0, -1, 1 << 32):
        with pytest.raises(ExportError, match=r"must lie in 1\.\.4294967295, got"):
            blob_of(profile, number)
    with pytest.raises(ExportError, match=r"product must lie in 0\.\.4294967295, got -1"):
        blob_of(profile, 1, product=-1)
    with pytest.raises(ExportError, match="at least 16 bytes, got 15"):
        hmac_signer(bytes(15))
    with pytest.raises(ExportError, match=r"number must lie in 0\.\.255, got 256"):
        hmac_signer(KEY, key_number=256)


def test_the_command_writes_a_blob(
    saved: str, profile: tcuq.Profile, tmp_path: Path, output_of: Callable[..., str]
) -> None:
    """The file holds the function's bytes; -o writes the sources of the loader beside it."""
    (tmp_path / "key.txt").write_text(KEY.hex() + "\n")
    words = ["export", saved, "--blob", tmp_path / "new.blob", "--number", 3, "--product", PRODUCT]
    words += ["--key", tmp_path / "key.txt", "--key-number", KEY_NUMBER, "--json"]
    facts = json.loads(output_of(*words))
    assert (tmp_path / "new.blob").read_bytes() == blob_of(profile, 3)
    assert (facts["number"], facts["profile"]) == (3, profile.sha256)
    output_of(*words, "-o", tmp_path / "out", "--ota")
    assert (tmp_path / "out/src/tcuq_slots.h").is_file()


def test_what_is_missing_is_named(saved: str, tmp_path: Path, refusal: Callable[..., str]) -> None:
    """Without a folder or file, number or key, the message says which; a key is never shown."""
    assert "give a folder with -o or a file with --blob" in refusal("export", saved)
    blob = ["export", saved, "--blob", tmp_path / "new.blob", "--number", 1]
    assert "--blob needs --number, and one of --key and --master" in refusal(*blob)
    (tmp_path / "key.txt").write_text("secret words")
    error = refusal(*blob, "--key", tmp_path / "key.txt")
    assert "must hold hexadecimal digits, at least 32" in error
    assert "secret" not in error
    assert not (tmp_path / "new.blob").exists()


def test_the_example_prints_what_the_page_shows(tmp_path: Path, newer: tcuq.Profile) -> None:
    """The example is exported, compiled and run with the output that the page shows."""
    demo_profile().save(tmp_path / "monitor.json")
    newer.save(tmp_path / "newer.json")
    for name in ("hmac_sha256.c", "hmac_sha256.h"):
        shutil.copy(HERE / name, tmp_path)
    (program,) = blocks(PATH, "c")
    (tmp_path / "ota.c").write_text(program, "utf-8")
    check_console(PATH, tmp_path)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("tcuq_blob", r"loader takes (\d+) bytes"),
        ("tcuq_verify", r"HMAC verifier (\d+),"),
        ("tcuq_blob_selftest", r"self-test (\d+),"),
        ("tcuq_switch", r"the switch (\d+) and"),
        ("tcuq_slots", r"and the slots (\d+)\."),
        ("profile", r"profile takes\s(\d+) bytes"),
        ("term", r"and (\d+) for each term"),
        ("slots_state", r"state of the slots (\d+)\."),
    ],
)
def test_the_stated_cost_is_correct(source: str, line: str, tmp_path: Path) -> None:
    """Flash and RAM are the compiler's sizes, and the loader is within its budget."""
    (figure,) = re.findall(line, PAGE)
    path = OTA / f"{source}.c"
    if not path.exists():
        path = tmp_path / "size.c"
        path.write_text(
            f'#include "tcuq_slots.h"\nconst char size[sizeof(tcuq_{source})] = {{1}};\n', "utf-8"
        )
    folders = [f"-I{folder}" for folder in (RUNTIME, UPLINK, OTA)]
    run(
        [f"{M4.prefix}gcc", *M4.flags, "-Os", "-std=c99", "-ffreestanding", *folders, "-c", path],
        cwd=tmp_path,
    )
    row = run([f"{M4.prefix}size", *tmp_path.glob("*.o")]).splitlines()[1].split()
    assert row[:3] == [figure, "0", "0"]
    assert source != "tcuq_blob" or int(figure) <= 1000
