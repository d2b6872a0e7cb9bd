# SPDX-License-Identifier: Apache-2.0
"""The device's snapshot and record: a power cut changes no decision, a damaged one is refused."""

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tcuq
from tcuq.demo import demo_profile, demo_stream
from tcuq.errors import SnapshotError
from tcuq.monitor import Monitor
from tcuq.telemetry import decode
from tests.fixtures.conformance import quiet_fit, recorded_profile
from tests.fixtures.firmware.golden import encoded_on_host, golden
from tests.fixtures.power_cut import refused_snapshots, survived_cuts

RECORDS = golden()["records"]


@pytest.fixture(scope="module")
def stream() -> tcuq.Stream:
    """Return a recorded stream with every outcome and alarms."""
    return demo_stream("fault_clipping")


def test_power_cut_changes_no_decision(
    stream: tcuq.Stream, synthetic: Callable[..., tcuq.Stream]
) -> None:
    """After random cuts a restored monitor decides as without, also bare and with paper's score."""
    assert survived_cuts(demo_profile(), stream, cuts=1000, seed=0) == 1000
    bare = synthetic(width=0, steps=400)
    assert survived_cuts(quiet_fit(bare), bare, cuts=50, seed=1) == 50
    assert survived_cuts(recorded_profile("paper"), demo_stream("test"), cuts=50, seed=1) == 50


def test_damaged_snapshots_are_refused_and_change_nothing(stream: tcuq.Stream) -> None:
    """100,000 damaged snapshots and every shorter length are refused; the monitor continues."""
    monitor = Monitor(demo_profile())
    monitor.run(stream.posteriors[:100], stream.features[:100])  # type: ignore[index]
    snapshot = monitor.snapshot()
    assert refused_snapshots(monitor, 100_000, seed=1) == 100_000
    for size in range(len(snapshot)):
        with pytest.raises(SnapshotError, match="damaged"):
            monitor.restore(snapshot[:size])
    assert monitor.snapshot() == snapshot


def test_snapshots_of_another_profile_or_version_are_refused(stream: tcuq.Stream) -> None:
    """A whole snapshot of another profile, size or version is refused as such, without a change."""
    monitor, other = Monitor(demo_profile()), Monitor(recorded_profile("paper"))
    assert len(monitor.snapshot()) != len(other.snapshot())
    monitor.run(stream.posteriors[:100], stream.features[:100])  # type: ignore[index]
    before = monitor.snapshot()
    with pytest.raises(SnapshotError, match="of another profile or device"):
        monitor.restore(other.snapshot())
    assert monitor.snapshot() == before
    snapshot = bytearray(Monitor(demo_profile()).snapshot())
    snapshot[4] ^= 1
    snapshot[-4:] = zlib.crc32(snapshot[:-4]).to_bytes(4, "little")
    with pytest.raises(SnapshotError, match="another profile"):
        Monitor(demo_profile()).restore(bytes(snapshot))
    snapshot = bytearray(Monitor(demo_profile()).snapshot())
    assert snapshot[11] == 3  # the version
    snapshot[11] = 1
    with pytest.raises(SnapshotError, match="damaged"):
        Monitor(demo_profile()).restore(bytes(snapshot))
    snapshot[-4:] = zlib.crc32(snapshot[:-4]).to_bytes(4, "little")
    with pytest.raises(SnapshotError, match="snapshot of another version"):
        Monitor(demo_profile()).restore(bytes(snapshot))


def test_impossible_values_under_a_true_checksum_are_refused() -> None:
    """Restoring any bytes with a valid checksum is refused or leaves a working monitor."""
    stream = demo_stream("test")
    monitor = Monitor(demo_profile())
    rng = np.random.default_rng(2)
    snapshot = monitor.snapshot()
    refused = 0
    for _ in range(3000):
        forged = bytearray(snapshot)
        for at in rng.integers(12, len(forged) - 4, 4).tolist():
            forged[at] = int(rng.integers(256))
        forged[-4:] = zlib.crc32(forged[:-4]).to_bytes(4, "little")
        try:
            monitor.restore(bytes(forged))
        except SnapshotError:
            refused += 1
        trace = monitor.run(stream.posteriors[:20], stream.features[:20])  # type: ignore[index]
        assert ((trace.risk >= 0) & (trace.risk <= 1)).all()
    assert refused > 100


def test_record_matches_the_specification(stream: tcuq.Stream) -> None:
    """The record has 97 bytes and the trace's counters."""
    monitor = Monitor(demo_profile())
    trace = monitor.run(stream.posteriors, stream.features)
    record = monitor.record(device=2**40 + 5, firmware=0x01080000, boot=3, sequence=9)
    assert len(record) == 97
    (fields,) = decode(record).records
    assert (fields["device"], fields["boot"], fields["sequence"]) == (2**40 + 5, 3, 9)
    assert fields["profile"] == int(demo_profile().sha256[:8], 16)
    assert fields["steps"] == len(trace) == fields["histogram"].sum() << fields["histogram_shift"]
    assert fields["abstained"] == (trace.outcome == tcuq.Outcome.ABSTAIN).sum()
    assert fields["denied"] == (trace.outcome == tcuq.Outcome.DENIED).sum()
    assert fields["exceeded"] == trace.exceeded.sum()
    assert fields["alarms"] == (trace.alarm > 0).sum()
    number, running_q8, closed = monitor.engine.epoch()
    assert (fields["epoch"], fields["closed"]) == (number, closed)
    assert fields["evidence"] == max(-128, min(127, running_q8 // 128))
    last = int(trace.alarm[trace.alarm > 0][-1])
    assert 1 << (fields["cause"] & 7) - 1 == last & 31


def test_the_host_encodes_the_same_bytes(tmp_path: Path) -> None:
    """Runtime, uplink and HMAC in C, compiled for the host, encode the golden bytes."""
    encoded = encoded_on_host(tmp_path)
    assert [record.plain.hex() for record in encoded] == [r["plain"] for r in RECORDS]
    assert [record.signed.hex() for record in encoded] == [r["signed"] for r in RECORDS]
    assert [record.signed_ack.hex() for record in encoded] == [r["signed_ack"] for r in RECORDS]
