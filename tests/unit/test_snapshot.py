# SPDX-License-Identifier: Apache-2.0
import json
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tcuq
import tcuq.reference
from tcuq.demo import demo_stream

pytestmark = pytest.mark.filterwarnings("ignore::tcuq.CalibrationWarning")

SEEN = 333  # steps before the snapshot: no block ends there

# Path, new value (`...` removes it), and what the message must say. The CRC is made to fit.
DAMAGED: list[tuple[str, object, str]] = [
    (
        "format",
        "tcuq.stages.snapshot/2",
        "format must be 'tcuq.stages.snapshot/1', got 'tcuq.stages.snapshot/2'",
    ),
    ("profile", "0" * 64, "got 00000000: the snapshot belongs to another profile"),
    ("profile", ..., "the snapshot belongs to another profile"),
    ("state", ..., "signals.probabilities is missing or not an array"),
    ("state", [], "signals.probabilities is missing or not an array"),
    ("state.alarm", ..., "alarm.block_sum is missing or not an array"),
    ("state.signals.probabilities", [[0.5] * 6], "signals.probabilities must have rows of shape"),
    ("state.signals.probabilities", [[0.1], [0.1, 0.2]], "signals.probabilities is missing or not"),
    ("state.signals.probabilities", [[1.5] + [0.0] * 6], "probabilities must lie in 0..1, got 0.0"),
    ("state.signals.probabilities", [[0.1] * 7] * 5, "at most 4 past steps are kept, got 5 and 4"),
    ("state.signals.probabilities", [], "at most 4 past steps are kept, got 0 and 4"),
    ("state.signals.features", [[0.0] * 31] * 4, "signals.features must have rows of shape (32,)"),
    ("state.signals.features.0.0", 2e30, "features must lie in -1e+30..1e+30"),
    ("state.signals.features.0.0", None, "features must hold float64"),
    ("state.score.smoothed", [0.0], "smoothed must have 6 entries, one a term, got 1"),
    ("state.score.smoothed.1", -1e300, "smoothed must lie in -1000000000.0..1000000000.0"),
    ("state.threshold.ledger_q16", [], "ledger_q16 must have 1 entry, got 0"),
    ("state.threshold.ledger_q16", [1, 2], "ledger_q16 must have 1 entry, got 2"),
    ("state.threshold.ledger_q16", 1, "threshold.ledger_q16 must have rows of shape"),
    ("state.threshold.ledger_q16.0", 2**40, "ledger_q16 must lie in"),
    ("state.threshold.ledger_q16.0", -(2**40), "ledger_q16 must lie in"),
    ("state.threshold.ledger_q16.0", 2**70, "threshold.ledger_q16 must hold int64"),
    ("state.threshold.warmup_left.0", 1, "warmup_left must lie in 0..0, got 1..1"),
    ("state.budget.tokens_q16.0", -1, "tokens_q16 must lie in 0..1048576, got -1..-1"),
    ("state.budget.tokens_q16.0", 2**20 + 1, "tokens_q16 must lie in 0..1048576"),
    ("state.budget.tokens_q16.0", "many", "budget.tokens_q16 must hold int64"),
    ("state.alarm.block_taken.0", 64, "block_taken must lie in 0..63, got 64..64"),
    ("state.alarm.block_taken.2", -1, "block_taken must lie in 0..15, got -1..-1"),
    ("state.alarm.cusum_q8.0", 10**6, "cusum_q8 must lie in 0..4095, got 1000000..1000000"),
    ("state.alarm.block_sum.0", 1e300, "block_sum must lie in"),
    ("state.alarm.epoch_q8.0", 2**60, "epoch_q8 must lie in"),
    ("state.alarm.epoch_q8", [0, 0, 0], "the alarm's state must have 4 entries, one a channel"),
]


def sealed(content: dict[str, Any]) -> bytes:
    """A snapshot of this content whose CRC fits."""
    content = {name: value for name, value in content.items() if name != "crc32"}
    crc32 = zlib.crc32(json.dumps(content, sort_keys=True).encode())
    return json.dumps({"crc32": crc32, **content}).encode()


def running(profile: tcuq.Profile, steps: int = SEEN) -> tcuq.reference.Monitor:
    """A monitor that has seen these steps of the test stream."""
    monitor, stream = tcuq.reference.Monitor(profile), demo_stream("test").cut(0, steps)
    monitor.run(stream.posteriors, stream.features)
    return monitor


def refusal(monitor: tcuq.reference.Monitor, snapshot: bytes) -> str:
    """The one-line message a snapshot is refused with, the monitor being unchanged."""
    before = monitor.snapshot()
    with pytest.raises(tcuq.SnapshotError) as caught:
        monitor.restore(snapshot)
    assert monitor.snapshot() == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("preset", ["recommended", "paper"])
def test_future_is_the_same(preset: Any) -> None:
    """Restored at any step, a monitor goes on as if it had never stopped, bit for bit."""
    calibration, development = demo_stream("calibration"), demo_stream("development")
    profile = tcuq.fit(calibration, development, preset=preset, verbose=False)
    stream = demo_stream("fault_gain")
    assert stream.features is not None
    rng = np.random.default_rng(0)
    for cut in (0, 1, 3, *rng.integers(4, len(stream), 20).tolist()):
        first, second = tcuq.reference.Monitor(profile), tcuq.reference.Monitor(profile)
        first.run(stream.posteriors[:cut], stream.features[:cut])
        second.run(stream.posteriors[-99:], stream.features[-99:])  # must leave no trace
        second.restore(first.snapshot())
        traces = [m.run(stream.posteriors[cut:], stream.features[cut:]) for m in (first, second)]
        for name in tcuq.Trace.__slots__:
            assert getattr(traces[0], name).tobytes() == getattr(traces[1], name).tobytes()
        assert first.snapshot() == second.snapshot()
        assert first.end_epoch() == second.end_epoch()


def test_smoothed_terms_survive(synthetic: Callable[..., tcuq.Stream]) -> None:
    """Smoothed signals and projected features are part of the state."""
    stream = synthetic(400, width=40)
    plans = [tcuq.TermPlan("novelty", ewma=3), tcuq.TermPlan("divergence", tail="lower", ewma=5)]
    profile = tcuq.fit(stream, terms=plans, verbose=False)
    first, second = tcuq.reference.Monitor(profile), tcuq.reference.Monitor(profile)
    assert stream.features is not None
    first.run(stream.posteriors[:123], stream.features[:123])
    second.restore(first.snapshot())
    for posterior, features in zip(stream.posteriors[123:], stream.features[123:], strict=True):
        assert first.step(posterior, features) == second.step(posterior, features)


def test_restoring_twice_is_restoring_once(profile: tcuq.Profile) -> None:
    """A snapshot is not used up, and running on does not change it."""
    monitor = running(profile)
    snapshot = monitor.snapshot()
    for _ in range(2):
        monitor.restore(snapshot)
        assert monitor.snapshot() == snapshot
        monitor.step(np.zeros(7), np.ones(32))
        assert monitor.snapshot() != snapshot


@pytest.mark.parametrize("case", DAMAGED, ids=lambda case: f"{case[0]}={str(case[1])[:20]}")
def test_damage_is_found_where_the_crc_fits(
    profile: tcuq.Profile,
    put: Callable[[object, str, object], None],
    case: tuple[str, object, str],
) -> None:
    """A wrong shape, range or profile is refused and changes nothing."""
    path, value, rule = case
    monitor = running(profile)
    content = json.loads(monitor.snapshot())
    put(content, path, value)
    assert rule in refusal(monitor, sealed(content))


def test_foreign_profile_is_refused(profile: tcuq.Profile) -> None:
    """A snapshot belongs to one profile, however little another differs."""
    other = tcuq.fit(demo_stream("calibration"), alpha=0.11, verbose=False)
    message = refusal(running(other), running(profile).snapshot())
    assert f"profile must be {other.sha256[:8]}, got {profile.sha256[:8]}" in message


def same_content(one: bytes | bytearray, other: bytes) -> bool:
    """1e-05 and 1E-05 are one number, as are two texts whose 17th digit decides nothing."""
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


def test_one_flipped_bit_is_refused(profile: tcuq.Profile) -> None:
    """The CRC finds any flipped bit that leaves a readable document."""
    monitor, rng = running(profile), np.random.default_rng(0)
    whole = running(profile, SEEN + 50).snapshot()
    for place, bit in zip(rng.integers(0, len(whole), 200), rng.integers(0, 8, 200), strict=True):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        if not same_content(damaged, whole):
            refusal(monitor, bytes(damaged))


def test_truncated_snapshot_is_refused(profile: tcuq.Profile) -> None:
    """A snapshot that is not whole is refused."""
    monitor = running(profile)
    whole = monitor.snapshot()
    for length in np.linspace(0, len(whole) - 1, 30).astype(int):
        assert "not a snapshot" in refusal(monitor, whole[:length])


@pytest.mark.parametrize(
    ("snapshot", "rule"),
    [
        (b"\x00\xff" * 20, "not a snapshot: it cannot be read as JSON"),
        (b"[" * 10**6, "not a snapshot: it cannot be read as JSON"),
        (b"[1, 2]", "not a snapshot: it holds a list"),
        (b'{"crc32": NaN}', "numbers must be finite, got NaN"),
        (b'{"crc32": -Infinity}', "numbers must be finite, got -Infinity"),
        (b"{}", "format must be 'tcuq.stages.snapshot/1', got 'None'"),
        (b'{"format": "tcuq.stages.snapshot/1"}', "damaged"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_other_bytes_are_refused(profile: tcuq.Profile, snapshot: bytes, rule: str) -> None:
    """What is no snapshot at all is refused."""
    assert rule in refusal(running(profile), snapshot)
