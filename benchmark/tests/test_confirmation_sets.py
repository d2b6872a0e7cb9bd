# SPDX-License-Identifier: Apache-2.0
"""The sets of the second confirmation, on files that the tests write: splits, streams, faults."""

import csv
from collections.abc import Iterator
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tcuq_benchmark.corruptions import vibration
from tcuq_benchmark.data import bearings, fsdd
from tcuq_benchmark.data.files import DataDamagedError
from tcuq_benchmark.scenarios.confirmation import SCENARIOS, in_turns

SPEAKERS = ("ann", "bob", "eve", "joe", "sue", "tom")
TAKES = 50
RATE_HZ = 8_000
UNKNOWN = ("B028", "IR028", "OR007at3", "OR021at12")
SAMPLES = 256 * 40


def write_digits(folder: Path) -> dict[str, Path]:
    """Write clips of a tone whose level tells the take, in the format of the spoken digits."""
    table = []
    for digit in range(10):
        pieces, start = [], 0
        for speaker in SPEAKERS:
            for take in range(TAKES):
                length = 200 + 2 * take
                tone = np.sin(np.arange(length) * (digit + 1) / 10)
                pieces.append((100 * (take + 1) * tone).astype(np.int16))
                table.append([digit, speaker, take, start, length])
                start += length
        soundfile.write(folder / f"{digit}.flac", np.concatenate(pieces), RATE_HZ)
    with (folder / "index.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["digit", "speaker", "take", "start", "length"])
        writer.writerows(table)
    return {path.name: path for path in folder.iterdir()}


def write_bearings(folder: Path) -> dict[str, Path]:
    """Write recordings that count upwards, named as the bearing data are."""
    conditions = [(name, load) for name in (*bearings.CLASSES[1:], *UNKNOWN) for load in range(4)]
    arrays = {f"{name}_{load}": np.arange(SAMPLES, dtype=np.int16) for name, load in conditions}
    path = folder / "bearings.npz"
    np.savez(path, allow_pickle=False, Normal_0=np.arange(2 * SAMPLES, dtype=np.int16), **arrays)
    return {path.name: path}


@pytest.fixture
def digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replace the spoken digits."""
    paths = write_digits(tmp_path)
    monkeypatch.setattr(fsdd, "checked_files", lambda _name: paths)
    fsdd._clips.cache_clear()  # noqa: SLF001 - of the real set
    yield
    fsdd._clips.cache_clear()  # noqa: SLF001


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replace the bearing data."""
    paths = write_bearings(tmp_path)
    monkeypatch.setattr(bearings, "checked_files", lambda _name: paths)
    bearings._recordings.cache_clear()  # noqa: SLF001 - as above
    yield
    bearings._recordings.cache_clear()  # noqa: SLF001


@pytest.mark.usefixtures("digits")
def test_spoken_digits_are_split_by_takes_and_speakers() -> None:
    """Parts share no clip; the known parts have four speakers and eight digits."""
    parts = fsdd.load()
    assert {part: len(one) for part, one in parts.items()} == {
        "train": 800, "calibration": 384, "test": 416,
    }  # fmt: skip
    others = [*fsdd.shifts().values(), *fsdd.unknown().values()]
    rows = [set(one.row.tolist()) for one in (*parts.values(), *others)]
    assert all(not one & other for one, other in combinations(rows, 2))
    for samples in parts.values():
        assert set(samples.y.tolist()) == set(range(8))
        assert set((samples.group // 10).tolist()) == {0, 1, 2, 3}
    assert [len(one) for one in fsdd.shifts().values()] == [400, 400]
    assert list(fsdd.unknown()) == ["digit 8", "digit 9"]
    assert all((one.y == -1).all() for one in fsdd.unknown().values())


@pytest.mark.usefixtures("digits")
def test_a_clip_is_the_one_that_the_table_names() -> None:
    """The level of each clip is that of its take, whatever the order of the file."""
    train = fsdd.load()["train"]
    peaks = np.abs(train.x.astype(int)).max(axis=1).reshape(-1, 25)
    np.testing.assert_allclose(peaks, np.tile(100 * (np.arange(25) + 1), (32, 1)), rtol=0.2)


def test_a_long_clip_loses_both_ends() -> None:
    """Its middle second stays; a short clip is in the middle of silence."""
    long = fsdd.one_second(np.full(12_000, 1000, np.int16))
    assert abs(int(long[8_000]) - 1000) < 5
    short = fsdd.one_second(np.full(800, 1000, np.int16))
    assert short.shape == (16_000,)
    assert np.flatnonzero(short).min() == 16_000 - 1 - np.flatnonzero(short).max()


@pytest.mark.usefixtures("machines")
def test_bearings_are_split_by_time_and_load() -> None:
    """No sample of a recording is in two parts; other loads and conditions are in none."""
    parts = bearings.load()
    spans = {
        part: {(int(g), int(r) & 0xFFFFFFFF) for g, r in zip(one.group, one.row, strict=True)}
        for part, one in parts.items()
    }
    for group in {g for g, _ in spans["train"]}:
        last = max(r for g, r in spans["train"] if g == group) + bearings.WINDOW
        first = min(r for g, r in spans["calibration"] if g == group)
        assert last <= first
        last = max(r for g, r in spans["calibration"] if g == group) + bearings.WINDOW
        assert last <= min(r for g, r in spans["test"] if g == group)
    assert len({g for g, _ in spans["test"]}) == 19
    known = set(chain.from_iterable(one.group.tolist() for one in parts.values()))
    others = [*bearings.shifts().values(), *bearings.unknown().values()]
    assert all(known.isdisjoint(one.group.tolist()) for one in others)
    assert [len(np.unique(one.group)) for one in others] == [9, 9, 4, 4]
    assert parts["test"].x.shape[1:] == (256, 1)


@pytest.mark.usefixtures("machines")
def test_a_recording_with_an_unknown_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file with other names is not mistaken for the bearing data."""
    path = tmp_path / "other.npz"
    np.savez(path, X097_DE_time=np.zeros(9, np.int16))
    monkeypatch.setattr(bearings, "checked_files", lambda _name: {"other.npz": path})
    with pytest.raises(DataDamagedError, match="named like B007_0"):
        bearings.load()


@pytest.mark.usefixtures("machines")
def test_a_pass_has_every_window_once_and_visits_go_on_in_order() -> None:
    """Most steps are followed by the next window of the same recording."""
    test = bearings.load()["test"]
    index = in_turns(test, 2 * len(test), 3, 30).index
    assert sorted(index[: len(test)].tolist()) == list(range(len(test)))
    assert sorted(index[len(test) :].tolist()) == list(range(len(test)))
    same = np.diff(test.group[index]) == 0
    assert (np.diff(index) == 1).mean() > 0.8
    assert same.mean() > 0.8


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("kind", ["iid", "coherent"])
def test_conditions_are_half_clean_and_half_shifted(kind: str) -> None:
    """Natural shifts come first, then faults of rising severity; unknown things have no label."""
    scenarios = SCENARIOS["fsdd"]
    drop = scenarios("drop", kind, 1)  # type: ignore[arg-type]
    assert drop.conditions[:3] == ("new speaker 1", "new speaker 2", "white_noise")
    for number in range(len(drop.conditions)):
        at = drop.condition == number
        assert drop.plan.shifted[at].mean() == 0.5
        assert (np.diff(drop.plan.severity[at]) >= 0).all()
    speaker = drop.samples.group[drop.plan.index]
    natural = drop.plan.shifted & (drop.condition < 2)
    assert speaker[natural].min() > speaker[~natural].max()
    unknown = scenarios("ood", kind, 1)  # type: ignore[arg-type]
    np.testing.assert_array_equal(unknown.labels == -1, unknown.plan.shifted)


@pytest.mark.parametrize("name", vibration.SUITE)
def test_every_fault_of_a_vibration_sensor_grows(name: str) -> None:
    """It keeps type and shape, and severity 5 changes a window more than severity 1."""
    x = np.random.default_rng(0).standard_normal((20, 256, 1)).astype(np.float32)
    fault = vibration.SUITE[name]
    mild, strong = (fault(x, severity, np.random.default_rng(1)) for severity in (1, 5))
    assert mild.dtype == np.float32
    assert mild.shape == x.shape
    assert 0 < np.abs(mild - x).mean() < np.abs(strong - x).mean()
