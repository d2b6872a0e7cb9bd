# SPDX-License-Identifier: Apache-2.0
"""Golden files: every reader accepts every released format, and decides as it always did."""

import ctypes
import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.errors import ProfileError, SnapshotError, StreamError
from tcuq.firmware.blob import HEAD
from tcuq.recording import FORMAT
from tcuq.replay import replay_files
from tcuq.telemetry import Keys, Reason, decode
from tests.fixtures.firmware.blob_device import FORMAT as BLOB_FORMAT
from tests.fixtures.firmware.blob_device import OK, BlobDevice
from tests.fixtures.firmware.golden import golden
from tests.fixtures.firmware.scenarios import make_scenario
from tests.fixtures.golden import FOLDER, KEY, ROOT, decided, formats, manifest

FILES = manifest()
DECISION = struct.Struct("<HHHHiI6BH")


def names(*endings: str) -> list[str]:
    """Return the golden files with these endings."""
    return [name for name in FILES if name.endswith(endings) and name != "records.json"]


def profile_of(name: str) -> tuple[tcuq.Profile, tcuq.Stream, dict[str, Any]]:
    """Return a golden profile, the stream that it must decide, and how."""
    facts = FILES[name]
    return tcuq.Profile.load(FOLDER / name), tcuq.Stream.load(FOLDER / facts["stream"]), facts


def columns_of(stream: tcuq.Stream) -> tuple[Any, ...]:
    """Return what a monitor reads, so that a part of it does not begin a recording."""
    return stream.posteriors, stream.features, stream.health


def test_every_format_has_a_golden_file() -> None:
    """A format that the sources state has a file here, and each file is in the manifest."""
    covered = {form for facts in FILES.values() for form in facts["formats"]}
    assert formats() <= covered, "python -m tools.golden --write, and keep the older format's files"
    present = {path.name for path in FOLDER.iterdir() if path.is_file()}
    assert present - {"golden.json", Path(__file__).name} == set(FILES)


def test_every_ending_of_a_recording_has_a_golden_file() -> None:
    """What `Stream.load` opens by its ending is among the golden streams."""
    with pytest.raises(StreamError) as refused:
        tcuq.Stream.load("stream.csv")
    endings = re.findall(r"\.\w+\b", str(refused.value).partition("must end in")[2])
    assert endings
    for ending in endings:
        assert names(ending)


@pytest.mark.parametrize("name", names(".npz", ".parquet"))
def test_a_golden_stream_is_read_as_it_was_written(name: str) -> None:
    """Its content has the same hash."""
    stream = tcuq.Stream.load(FOLDER / name)
    assert stream.sha256 == FILES[name]["sha256"]


@pytest.mark.parametrize("name", names(".json"))
def test_a_golden_profile_decides_as_it_always_did(name: str) -> None:
    """Every column of the trace is the same, bit for bit."""
    profile, stream, facts = profile_of(name)
    assert decided(tcuq.Monitor(profile).run(stream)) == facts["decides"]


@pytest.mark.parametrize("name", names(".json"))
def test_a_golden_stream_is_replayed_as_it_always_was(name: str, tmp_path: Path) -> None:
    """`tcuq replay` counts the golden recording's outcomes and alarms as the monitor does."""
    profile, _, facts = profile_of(name)
    recording = (FOLDER / facts["stream"]).with_suffix(".parquet")
    comparison = replay_files({"golden": profile}, [recording], tmp_path / "out")
    (sums,) = comparison.facts()["profiles"].values()
    accepted, abstained, denied = facts["decides"]["outcomes"]
    assert (sums["steps"] - sums["abstained"] - sums["denied"]) == accepted
    assert (sums["abstained"], sums["denied"]) == (abstained, denied)
    assert sums["alarms"] == len(facts["decides"]["alarms"])


@pytest.mark.parametrize("name", names(".snapshot"))
def test_a_golden_snapshot_continues_as_if_never_interrupted(name: str) -> None:
    """After it the rest of the stream is decided as in one run."""
    profile, stream, _ = profile_of(FILES[name]["profile"])
    cut = FILES[name]["after"]
    whole = tcuq.Monitor(profile).run(stream)
    monitor = tcuq.Monitor(profile)
    monitor.restore((FOLDER / name).read_bytes())
    posteriors, *others = columns_of(stream)
    rest = [None if column is None else column[cut:] for column in others]
    assert decided(monitor.run(posteriors[cut:], *rest)) == decided(whole[cut:])


@pytest.mark.parametrize("name", names(".blob"))
def test_a_device_loads_a_golden_blob_and_decides_as_the_host(name: str, tmp_path: Path) -> None:
    """The loader in C accepts it, its self-test holds, and its steps are those of the profile."""
    profile, stream, _ = profile_of(FILES[name]["profile"])
    blob = (FOLDER / name).read_bytes()
    device = BlobDevice(profile, tmp_path, KEY)
    assert device.load(blob) == OK
    other = blob[:4] + struct.pack("<H", HEAD.unpack_from(blob)[1] - 1) + blob[6:]
    assert device.load(other) == BLOB_FORMAT
    assert device.install(blob) == OK
    scenario = make_scenario(name, name, profile, [stream], whole=True)
    steps = scenario.steps
    buffer = ctypes.create_string_buffer(DECISION.size)
    trace = tcuq.Monitor(profile).run(stream)
    for step in range(len(stream)):
        row = [
            None if column is None else column[step].tobytes()
            for column in (steps.posteriors, steps.features, steps.health)
        ]
        device.library.device_step(*row, buffer)
        label, risk, *_, outcome, _, _, alarm, _, _ = DECISION.unpack(buffer.raw)
        expected = (trace.label[step], trace.risk[step], trace.outcome[step], trace.alarm[step])
        assert (label, risk / 16384, outcome, alarm) == expected, step


@pytest.mark.parametrize("record", golden()["records"], ids=lambda record: record["name"])
def test_golden_records_say_what_they_always_said(record: dict[str, Any]) -> None:
    """Both versions decode to the same fields."""
    keys = Keys({golden()["key_id"]: bytes.fromhex(golden()["master_key"])})
    for name, given in (("plain", None), ("signed", keys)):
        decoded = decode(bytes.fromhex(record[name]), given)
        assert decoded.refused == []
        fields = {name: decoded.records[name][0].tolist() for name in record["fields"]}
        assert fields == record["fields"]


def test_another_version_is_refused_by_name(tmp_path: Path) -> None:
    """Readers name the version that they do not read, of a profile, a recording and a record."""
    document = json.loads((FOLDER / "recommended.json").read_text("utf-8"))
    with pytest.raises(ProfileError, match=r"got tcuq\.profile/1, of another version of tcuq"):
        tcuq.Profile.from_json(json.dumps(document | {"format": "tcuq.profile/1"}))
    other = f"{FORMAT.partition('/')[0]}/9"
    content = (FOLDER / "classes.parquet").read_bytes()
    path = tmp_path / "other.parquet"
    path.write_bytes(content.replace(FORMAT.encode(), other.encode()))
    with pytest.raises(StreamError, match=rf"must hold '{FORMAT}'.*got '?{other}"):
        tcuq.Stream.load(path)
    record = bytes.fromhex(golden()["records"][0]["plain"])
    assert [reason for reason, _ in decode(b"\2" + record[1:]).refused] == [Reason.VERSION]


def test_a_snapshot_of_another_version_is_refused_by_name() -> None:
    """The monitor says so, and goes on as it was."""
    profile, stream, _ = profile_of("recommended.json")
    body = bytearray((FOLDER / "recommended.snapshot").read_bytes()[:-4])
    body[11] -= 1
    monitor = tcuq.Monitor(profile)
    monitor.run(stream[:10])
    before = monitor.snapshot()
    with pytest.raises(SnapshotError, match="version"):
        monitor.restore(bytes(body) + struct.pack("<I", zlib.crc32(body)))
    assert np.array_equal(monitor.snapshot(), before)


def test_the_policy_names_the_present_formats() -> None:
    """The page on compatibility has each format's version."""
    page = (ROOT / "docs/reference/compatibility.md").read_text("utf-8")
    for form in formats():
        kind, version = form.removeprefix("tcuq.").replace("/", " ").split()
        rows = [line for line in page.splitlines() if line.startswith("|") and kind in line]
        assert any(version in row for row in rows), f"{form} must be in the table of formats"
