# SPDX-License-Identifier: Apache-2.0
import gzip
import pickle
from collections.abc import Callable, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tcuq_benchmark.data import speech_commands
from tcuq_benchmark.data.files import DataDamagedError
from tcuq_benchmark.data.idx import read_idx
from tcuq_benchmark.data.watch import PlainReader, plain_table

if TYPE_CHECKING:
    from tcuq_benchmark.data.samples import Recording, Samples

Load = Callable[[str], Any]
SETS = {  # type, shape of a sample, samples in train, calibration, development, test
    "mnist": ("uint8", (28, 28), (50_000, 10_000, 5_000, 5_000)),
    "fashion_mnist": ("uint8", (28, 28), (50_000, 10_000, 5_000, 5_000)),
    "cifar10": ("uint8", (32, 32, 3), (42_500, 7_500, 5_000, 5_000)),
    "tinyimagenet": ("uint8", (32, 32, 3), (1_000, 1_000)),
    "tinyimagenet_50": ("uint8", (32, 32, 3), (20_000, 5_000, 1_250, 1_250)),
    "speech_commands": ("int16", (16_000,), (2_246, 787, 513, 987)),
    "audiomnist": ("int16", (16_000,), (2_400, 960, 480, 960)),
    "digits": ("float32", (8, 8), (600, 600, 200, 397)),
    "gas_drift": ("float32", (128,), (848, 424, 1_754, 3_671)),
    "fsdd": ("int16", (16_000,), (800, 384, 416)),
    "bearings": ("float32", (256, 1), (9_498, 2_372, 2_372)),
}
PEOPLE = ("speech_commands", "audiomnist")


def share_nothing(sets: Sequence[set[int]]) -> bool:
    """Return whether no two sets have a member in common."""
    return all(not one & other for one, other in combinations(sets, 2))


@pytest.mark.parametrize("name", SETS)
def test_samples_are_as_documented(name: str, load: Load) -> None:
    """Type, shape and size of every part; labels in range; no row in two parts."""
    dtype, shape, sizes = SETS[name]
    parts: dict[str, Samples] = load(name)
    assert tuple(len(samples) for samples in parts.values()) == sizes
    for samples in parts.values():
        assert samples.x.dtype == dtype
        assert samples.x.shape == (len(samples), *shape)
        assert samples.y.dtype == samples.group.dtype == np.int64
        assert 0 <= samples.y.min() <= samples.y.max() < len(samples.classes)
        assert len(np.unique(samples.y)) >= 6
    assert share_nothing([set(samples.row.tolist()) for samples in parts.values()])


@pytest.mark.parametrize("name", PEOPLE)
def test_no_speaker_is_in_two_parts(name: str, load: Load) -> None:
    """Speakers are disjoint."""
    assert share_nothing([set(samples.group.tolist()) for samples in load(name).values()])


@pytest.mark.parametrize(("name", "people", "classes"), [("hapt", 30, 7), ("watch", 10, 7)])
def test_recordings_are_as_documented(name: str, people: int, classes: int, load: Load) -> None:
    """Six channels of float32, one label per sample, persons disjoint, units plausible."""
    parts: dict[str, tuple[Recording, ...]] = load(name)
    everyone = [{recording.person for recording in part} for part in parts.values()]
    assert share_nothing(everyone)
    assert len(set().union(*everyone)) == people
    for recording in chain.from_iterable(parts.values()):
        assert recording.signal.dtype == np.float32
        assert recording.signal.shape == (len(recording.label), 6)
        assert np.isfinite(recording.signal).all()
        assert -1 <= recording.label.min() <= recording.label.max() < classes
        still = np.median(np.linalg.norm(recording.signal[:, :3], axis=1))
        assert 0.5 < still < 2.5  # the earth's pull, in g


def test_hapt_people_stay_in_their_parts(load: Load) -> None:
    """The people of each part are those whose results were published."""
    parts: dict[str, tuple[Recording, ...]] = load("hapt")
    people = {part: {r.person for r in recordings} for part, recordings in parts.items()}
    assert people["development"] == {4, 9, 30}
    assert people["calibration"] == {1, 6, 8, 13, 14, 15, 18, 20, 21, 23}
    assert people["test"] == {2, 10, 16, 25, 28}


def test_gas_in_distribution_and_drifted(load: Load) -> None:
    """Training and calibration are months 1-10; the test part has them and every later batch."""
    parts: dict[str, Samples] = load("gas_drift")
    batches = {part: set(samples.group.tolist()) for part, samples in parts.items()}
    assert batches["train"] == batches["calibration"] == {1, 2}
    assert batches["development"] == {1, 2, 3}
    assert batches["test"] == {1, 2, 4, 5, 6, 8, 9}


def test_channel_means_of_cifar_are_the_known_ones(load: Load) -> None:
    """The official training images average .4914 .4822 .4465."""
    parts: dict[str, Samples] = load("cifar10")
    both = [parts["train"].x, parts["calibration"].x]
    mean = sum(x.sum(axis=(0, 1, 2), dtype=np.int64) for x in both) / (50_000 * 1024 * 255)
    np.testing.assert_allclose(mean, [0.49140, 0.48216, 0.44653], atol=1e-5)


def test_spoken_digits_are_labelled_by_the_digit(load: Load) -> None:
    """The natural shift's labels are AudioMNIST's."""
    parts: dict[str, Samples] = load("speech_commands")
    digits = speech_commands.only(parts["test"], speech_commands.DIGITS)
    assert digits.classes[8] == "eight"
    eights = parts["test"].row[parts["test"].y == speech_commands.WORDS.index("eight")]
    np.testing.assert_array_equal(digits.row[digits.y == 8], eights)


def test_frost_is_bright_and_large_enough(load: Load) -> None:
    """Five photographs, each larger than an image."""
    pictures = load("frost")
    assert len(pictures) == 5
    assert all(min(picture.shape[:2]) > 32 for picture in pictures)


def idx_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """Return an idx file of unsigned bytes."""
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_idx_is_read_packed_or_not(tmp_path: Path, suffix: str) -> None:
    """The array comes back in its shape."""
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    content = idx_bytes(array)
    path = tmp_path / f"a{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    np.testing.assert_array_equal(read_idx(path), array)


def test_foreign_idx_is_refused(tmp_path: Path) -> None:
    """A file of another kind is not read as images."""
    (tmp_path / "a").write_bytes(b"\x00\x00\x0d\x01junk")
    with pytest.raises(DataDamagedError, match="must be an idx file of bytes"):
        read_idx(tmp_path / "a")


def test_pickle_that_calls_something_is_refused(tmp_path: Path) -> None:
    """The reader of the watch set builds arrays and runs nothing."""
    evil = b"cos\nsystem\n(S'true'\ntR."
    (tmp_path / "a.npy").write_bytes(b" " * 128 + evil)
    with pytest.raises(DataDamagedError, match=r"asks for os\.system"):
        plain_table(tmp_path / "a.npy")
    assert issubclass(PlainReader, pickle.Unpickler)
