# SPDX-License-Identifier: Apache-2.0
"""Replay of chunks: decisions equal a Monitor's, and broken rows are named."""

import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet

import tcuq
from tcuq.demo import demo_stream
from tcuq.errors import CalibrationWarning, InputError, StreamError
from tcuq.monitor import Monitor
from tcuq.profile.settings import ChannelSignal
from tcuq.replay import Layout, Replay, layout_of, pack
from tcuq.replay.function import WIDTH
from tcuq.stream import KINDS
from tests.fixtures.healthy_streams import health_profile, healthy_stream, without_health
from tests.fixtures.replay_bytes import decision_bytes

Expected = Mapping[tuple[str, str], tuple[bytes, bytes]]


def run(replay: Replay, batches: list[Any]) -> dict[tuple[str, str], tuple[bytes, bytes]]:
    """Return decisions and last state by stream and profile."""
    rows = pa.Table.from_batches(replay(batches)).to_pylist()
    return {(r["stream"], r["profile"]): (r["decisions"], r["snapshot"]) for r in rows}


@pytest.mark.parametrize("rows", [1, 7, 10_000])
def test_decisions_equal_a_monitors(
    archive: Path, profiles: Mapping[str, tcuq.Profile], expected: Expected, rows: int
) -> None:
    """Decisions are equal byte for byte, however the chunks are cut into batches."""
    with parquet.ParquetFile(archive) as file:
        replay = Replay(profiles, layout_of(file.schema_arrow), decisions=True)
        assert run(replay, list(file.iter_batches(rows))) == expected


def test_float_streams_are_decided_alike(
    tmp_path: Path, profiles: Mapping[str, tcuq.Profile], expected: Expected
) -> None:
    """Without a profile `pack` stores numbers unchanged, and each profile quantises them."""
    box = sorted((Path(tcuq.__file__).parent / "data/keywords").glob("*.npz"))
    pack(box, tmp_path / "floats.parquet")
    with parquet.ParquetFile(tmp_path / "floats.parquet") as file:
        layout = layout_of(file.schema_arrow)
        assert not layout.of_bytes
        assert run(Replay(profiles, layout, decisions=True), list(file.iter_batches())) == expected


def test_features_in_another_scale_are_quantised_again(
    archive: Path, profiles: Mapping[str, tcuq.Profile]
) -> None:
    """Posteriors stay, and features become the bytes of a Monitor's quantisation."""
    monitor = Monitor(profiles["present"])
    with parquet.ParquetFile(archive) as file:
        layout = replace(layout_of(file.schema_arrow), feature_scale=0.01)
        table = file.read()
    table = table.filter(pc.equal(table["stream"], "test"))
    raw = [b"".join(table[name].to_pylist()) for name in ("posteriors", "features", "health")]
    rows = np.frombuffer(raw[0], np.uint8).reshape(-1, layout.classes)
    wide = np.frombuffer(raw[1], np.int8).reshape(-1, layout.width) * 0.01
    _, features = monitor.quantize(rows / rows.sum(axis=1, keepdims=True, dtype=float), wide)
    starts = np.cumsum(table["steps"].to_numpy()) - table["steps"].to_numpy()
    health = np.frombuffer(raw[2], np.int16).reshape(len(rows), -1)
    monitor.run(rows, features, health, starts=starts[table["first_step"].to_numpy() == 0])
    replay = Replay({"p": profiles["present"]}, layout, decisions=True)
    assert run(replay, table.to_batches())["test", "p"][1] == monitor.snapshot()


@pytest.mark.parametrize("quantised", [False, True])
def test_health_is_decided_as_by_a_monitor(tmp_path: Path, quantised: bool) -> None:
    """With input health, decisions, evidence and the last state of every stream are a Monitor's."""
    profile = health_profile()
    streams = {
        "a_calm": healthy_stream(5000, seed=2),
        "b_rough": healthy_stream(5000, seed=3, rough_from=2000),
        "c_since_boot": healthy_stream(1000, seed=4, rough_from=0),
    }
    for name, stream in streams.items():
        stream.save(tmp_path / f"{name}.npz")
    archive = tmp_path / "archive.parquet"
    pack(sorted(tmp_path.glob("*.npz")), archive, profile=profile if quantised else None)
    with parquet.ParquetFile(archive) as file:
        replay = Replay({"p": profile}, layout_of(file.schema_arrow), decisions=True)
        rows = pa.Table.from_batches(replay(file.iter_batches(3))).to_pylist()
    assert [row["stream"] for row in rows] == list(streams)
    for row, stream in zip(rows, streams.values(), strict=True):
        monitor = Monitor(profile)
        trace = monitor.run(stream)
        assert row["decisions"] == decision_bytes(trace)
        assert row["health_alarms"] == sum("input health" in c for c in trace.alarms.values())
        assert row["epoch"] == monitor.epoch
        assert row["evidence_bits"] == monitor.epoch_evidence_bits
        assert row["closed_evidence_bits"] == monitor.closed_evidence_bits
        assert row["snapshot"] == monitor.snapshot()
    assert [row["health_alarms"] > 0 for row in rows] == [False, True, True]
    assert [row["epoch"] for row in rows] == [1, 1, 0]


def test_an_archive_without_health_is_decided_without_it(tmp_path: Path) -> None:
    """A profile that reads health runs over streams that have none, as a Monitor does."""
    stream = without_health(healthy_stream(2000, seed=2, rough_from=0))
    stream.save(tmp_path / "a.npz")
    pack([tmp_path / "a.npz"], tmp_path / "a.parquet")
    with parquet.ParquetFile(tmp_path / "a.parquet") as file:
        replay = Replay({"p": health_profile()}, layout_of(file.schema_arrow), decisions=True)
        outputs = run(replay, list(file.iter_batches()))
    monitor = Monitor(health_profile())
    assert outputs == {("a", "p"): (decision_bytes(monitor.run(stream)), monitor.snapshot())}


def test_profiles_beside_it_do_not_change_a_profile(
    archive: Path, profiles: Mapping[str, tcuq.Profile]
) -> None:
    """Shared signals give what each profile gives alone."""
    with parquet.ParquetFile(archive) as file:
        layout, batches = layout_of(file.schema_arrow), list(file.iter_batches())
    together = run(Replay(profiles, layout, decisions=True), batches)
    for name, profile in profiles.items():
        alone = run(Replay({name: profile}, layout, decisions=True), batches)
        assert all(together[key] == value for key, value in alone.items())


def test_counts_are_those_of_the_decisions(
    archive: Path, profiles: Mapping[str, tcuq.Profile]
) -> None:
    """Counts equal sums over the bytes of decisions, labels and alarms."""
    with parquet.ParquetFile(archive) as file:
        replay = Replay(profiles, layout_of(file.schema_arrow), decisions=True)
        rows = pa.Table.from_batches(replay(file.iter_batches())).to_pylist()
    for row in rows:
        decisions = np.frombuffer(row["decisions"], np.uint8)
        alarmed = np.flatnonzero(decisions >> 4)
        assert row["steps"] == len(decisions) == sum(row["risk_histogram"])
        assert row["abstained"] == (decisions & 3 == 1).sum()
        assert row["denied"] == (decisions & 3 == 2).sum()
        assert row["exceeded"] == (decisions >> 2 & 1).sum()
        assert row["alarms"] == len(alarmed)
        for number, channel in enumerate(get_args(ChannelSignal), start=1):
            assert row[f"{channel}_alarms"] == (decisions >> 4 & 7 == number).sum()
        assert row["first_alarm"] == (int(alarmed[0]) if len(alarmed) else None)
        assert 0 < row["wrong_abstained"] <= row["wrong"] <= row["labelled"] <= row["steps"]


def test_replay_can_be_sent_to_another_process(
    archive: Path, profiles: Mapping[str, tcuq.Profile]
) -> None:
    """A pickled Replay gives the same results."""
    with parquet.ParquetFile(archive) as file:
        replay = Replay(profiles, layout_of(file.schema_arrow), decisions=True)
        batches = list(file.iter_batches())
    assert run(pickle.loads(pickle.dumps(replay)), batches) == run(replay, batches)  # noqa: S301


def chunks(**changes: Any) -> Any:
    """Return a batch of three valid chunks of two steps, with these columns replaced."""
    columns = {
        "stream": ["a", "a", "b"],
        "first_step": [0, 2, 0],
        "steps": [2, 2, 2],
        "posteriors": [np.array([[0.5, 0.5], [0.9, 0.1]]).tobytes()] * 3,
    }
    schema = Layout("probabilities", {"posteriors": ("<f8", 2)}).metadata()
    return pa.RecordBatch.from_pydict(columns | changes).replace_schema_metadata(schema)


def test_steps_out_of_distribution_are_counted_as_wrong(synthetic: Any) -> None:
    """Label -2 is counted as labelled and wrong, -1 is not counted."""
    with pytest.warns(CalibrationWarning):
        profile = tcuq.fit(synthetic(classes=2, width=0))
    labels = [np.array(pair, "<i4").tobytes() for pair in ([0, 0], [-2, -1], [-1, 1])]
    layout = Layout("probabilities", {"posteriors": ("<f8", 2), "labels": ("<i4", 0)})
    batch = chunks(labels=labels).replace_schema_metadata(layout.metadata())
    first, second = pa.Table.from_batches(Replay({"p": profile}, layout)([batch])).to_pylist()
    assert (first["labelled"], first["wrong"]) == (3, 1)
    assert (second["labelled"], second["wrong"]) == (1, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"first_step": [0, 3, 0]}, "row 1: stream 'a' must go on at its next step"),
        ({"first_step": [2, 4, 0]}, "row 0: stream 'a' .* all rows of a stream stand together"),
        ({"recording": [0, 2, 0]}, "row 1: stream 'a'"),
        ({"steps": [2, 0, 2]}, "row 1: steps must be at least 1, got 0"),
        ({"steps": [2, 2, None]}, "'steps' must be int64 without nulls"),
        ({"stream": ["a", "a", None]}, "'stream' must not have nulls"),
        ({"posteriors": [bytes(32), bytes(31), bytes(32)]}, "row 1: posteriors must hold 32 bytes"),
        ({"posteriors": ["x", "x", "x"]}, "'posteriors' must be binary without nulls"),
        ({"posteriors": [bytes(32)] * 3}, "row 0 and on, stream 'a': .*must sum to 1"),
    ],
)
def test_rows_that_break_a_rule_are_named(
    synthetic: Any, changes: dict[str, Any], message: str
) -> None:
    """The error has the row, the rule and the value."""
    with pytest.warns(CalibrationWarning):
        profile = tcuq.fit(synthetic(classes=2, width=0))
    batch = chunks(**changes)
    with pytest.raises(StreamError, match=message):
        list(Replay({"p": profile}, layout_of(batch.schema))([batch]))
    assert sum(b.num_rows for b in Replay({"p": profile}, layout_of(batch.schema))([chunks()])) == 2


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (Layout("probabilities", {"posteriors": ("<f8", 1)}), "width of posteriors must lie in 2"),
        (Layout("probabilities", {"posteriors": ("<U3", 2)}), "must not have dtype"),
        (Layout("probabilities", {}), "column 'posteriors' is missing"),
        (Layout("chances", {"posteriors": ("<f8", 2)}), "kind must be one of"),  # type: ignore[arg-type]
        (Layout("logits", {"posteriors": ("<f8", 2)}, 0.0), "posterior_scale must be a positive"),
        (
            Layout("logits", {"posteriors": ("<f8", 2), "labels": ("<i4", 0)}),
            "column 'labels' is missing",
        ),
    ],
)
def test_metadata_that_breaks_a_rule_is_refused(layout: Layout, message: str) -> None:
    """It is refused before any row is read."""
    schema = chunks().schema.with_metadata(layout.metadata())
    with pytest.raises(StreamError, match=message):
        layout_of(schema)
    with pytest.raises(StreamError, match="metadata must hold"):
        layout_of(schema.remove_metadata())


def test_profiles_of_other_streams_are_refused(profiles: Mapping[str, tcuq.Profile]) -> None:
    """They are refused by name before any row is read."""
    layout = Layout("probabilities", {"posteriors": ("<f8", 2)})
    with pytest.raises(InputError, match="present: classes must be"):
        Replay(profiles, layout)
    with pytest.raises(InputError, match="at least 1"):
        Replay({}, layout)
    inputs = profiles["present"].inputs
    other = {"posteriors": ("<f8", inputs.classes), "features": ("<f8", inputs.width)}
    (kind,) = set(KINDS) - {inputs.kind, "outputs"}
    for wrong in (kind, "outputs"):
        with pytest.raises(InputError, match="kind must be"):
            Replay(profiles, Layout(wrong, other))


@pytest.fixture
def steps(profile: tcuq.Profile) -> tuple[Any, Any, None]:
    """Return device bytes of the test stream, which has no health."""
    stream = demo_stream("test")
    return *Monitor(profile).quantize(stream.posteriors, stream.features), None


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, [], "expected a tuple"),
        (1, np.zeros((3, 2)), "not arrays that takes"),
        (4, np.zeros(3, np.int32), "labels: 12 bytes, not"),
        (5, None, "counts: None"),
        (5, np.zeros(3, np.int64), "counts: 24 bytes, not"),
        (6, np.zeros(3, np.uint8), "decisions: 3 bytes, not"),
        (6, b"read only", "not writable"),
    ],
)
def test_wrong_arguments_are_refused(
    profile: tcuq.Profile, steps: tuple[Any, Any, None], at: int, value: object, message: str
) -> None:
    """A wrong argument is named, and the engine can be used afterwards."""
    engine = Monitor(profile).engine
    before = engine.snapshot()
    good: list[Any] = [(), *steps, None, np.zeros(WIDTH, np.int64), None]
    wrong = [*good[:at], value, *good[at + 1 :]]
    with pytest.raises((TypeError, ValueError, BufferError), match=message):
        engine.replay(*wrong)
    assert engine.snapshot() == before
    assert engine.replay(*good) == len(steps[0])
    with pytest.raises(TypeError, match="six more arguments"):
        engine.replay(())  # type: ignore[call-arg]


def test_engines_with_other_signals_are_refused(
    profiles: Mapping[str, tcuq.Profile], steps: tuple[Any, Any, None]
) -> None:
    """Other lags and a repeated engine are refused; all engines are free afterwards."""
    one, other = (Monitor(profiles[name]).engine for name in ("present", "short"))
    counts = np.zeros((2, WIDTH), np.int64)
    with pytest.raises(ValueError, match=r"others\[0\]: sees other signals"):
        one.replay((other,), *steps, None, counts, None)
    with pytest.raises(RuntimeError, match="in use"):
        one.replay((one,), *steps, None, counts, None)
    with pytest.raises(TypeError, match=r"others\[0\]: not an Engine"):
        one.replay((1,), *steps, None, counts, None)  # type: ignore[arg-type]
    stays = replace(profiles["present"].signals, stickiness=0.5)
    stickier = Monitor(replace(profiles["present"], signals=stays)).engine
    with pytest.raises(ValueError, match=r"others\[0\]: sees other signals"):
        one.replay((stickier,), *steps, None, counts, None)
    assert not counts.any()
    one.reset()
    other.reset()


def test_observed_signals_are_those_of_single_steps(
    profile: tcuq.Profile, steps: tuple[Any, Any, None]
) -> None:
    """`observe` returns eleven numbers per step, equal to those of `signals`."""
    observed = Monitor(profile).engine.observe(*steps)
    assert observed is not None
    table = np.frombuffer(observed, np.int32).reshape(-1, 11)
    engine = Monitor(profile).engine
    for row, posterior, features in zip(table[:50], *steps[:2], strict=False):
        one = engine.signals(posterior, features, None)
        assert one is not None
        assert row.tolist() == [*one[2:9], one[1], *one[9:]]
    stream = demo_stream("test")
    wild = np.full_like(np.asarray(stream.posteriors, float), np.nan)
    assert engine.observe(wild, np.asarray(stream.features, float), None) is None
    with pytest.raises(TypeError, match="expected 3 arguments"):
        engine.observe(steps[0])  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="not arrays that takes"):
        engine.observe(steps[0], None, None)
