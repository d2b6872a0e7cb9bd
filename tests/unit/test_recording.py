# SPDX-License-Identifier: Apache-2.0
"""Files of streams: they come back bit for bit, and a damaged one gives no other data."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import tcuq
from tcuq.errors import StreamError
from tcuq.recording import PARQUET_CHUNK_STEPS

ENDINGS = (".npz", ".parquet")
TYPES = ("float16", "float32", "float64", "uint8", "int8")
HALVES = np.full((4, 2), 0.5)
Synthetic = Callable[..., tcuq.Stream]
Flips = Callable[[bytes], Iterable[int]]


def recorded(steps: int, dtype: str, **columns: Any) -> tcuq.Stream:
    """Return a stream of logits of this type."""
    rng = np.random.default_rng(steps)
    return tcuq.Stream(rng.integers(0, 100, (steps, 3)).astype(dtype), kind="logits", **columns)


def everything(steps: int) -> dict[str, Any]:
    """Return every optional column."""
    return {
        "features": np.arange(2 * steps, dtype=np.float32).reshape(steps, 2),
        "labels": np.arange(steps) % 4 - 1,
        "starts": [0, 1, steps // 2, steps - 1],
        "shifted": np.arange(steps) % 3 == 0,
    }


def same(path: Path, stream: tcuq.Stream) -> bool:
    """Tell whether a stream comes back from the file with the same values, types and recordings."""
    stream.save(path)
    return tcuq.Stream.load(path).sha256 == stream.sha256


def write(path: Path, **members: Any) -> Path:
    """Write an .npz file of these members."""
    np.savez(path, **members)
    return path


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("dtype", TYPES)
def test_columns_keep_their_type(tmp_path: Path, ending: str, dtype: str) -> None:
    """Posteriors and features of every type a recorder writes come back bit for bit."""
    features = np.arange(100).reshape(50, 2).astype(dtype)
    assert same(tmp_path / f"a{ending}", recorded(50, dtype, features=features))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("column", ["features", "labels", "starts", "shifted"])
def test_columns_come_back_alone(tmp_path: Path, ending: str, column: str) -> None:
    """Each optional column comes back when it is the only one, and the others stay absent."""
    chosen = {column: everything(60)[column]}
    assert same(tmp_path / f"a{ending}", recorded(60, "float64", **chosen))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("steps", [4, PARQUET_CHUNK_STEPS, 2 * PARQUET_CHUNK_STEPS + 7])
def test_several_recordings_come_back(tmp_path: Path, ending: str, steps: int) -> None:
    """Recordings shorter and longer than a chunk of the file come back apart."""
    assert same(tmp_path / f"a{ending}", recorded(steps, "float32", **everything(steps)))


@pytest.mark.parametrize("ending", ENDINGS)
def test_layout_in_memory_does_not_matter(tmp_path: Path, ending: str) -> None:
    """Columns in Fortran order or with strides come back with the same values."""
    posteriors = np.asfortranarray(np.arange(30.0).reshape(10, 3))
    features = np.arange(40.0).reshape(10, 4)[:, ::2]
    stream = tcuq.Stream(posteriors, features, kind="logits")
    assert same(tmp_path / f"a{ending}", stream)


def test_scales_multiply_integers(tmp_path: Path) -> None:
    """Quantised columns are multiplied by their scales."""
    path = write(
        tmp_path / "a.npz",
        kind="probabilities",
        posteriors=np.array([[64, 192], [255, 0]], np.uint8),
        posterior_scale=1 / 256,
        features=np.array([[-128], [127]], np.int8),
        feature_scale=0.5,
    )
    stream = tcuq.Stream.load(path)
    assert stream.posteriors.tolist() == [[0.25, 0.75], [255 / 256, 0.0]]
    assert np.asarray(stream.features).tolist() == [[-64.0], [63.5]]


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_one_output_in_a_file_is_stacked(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """The column of a single sigmoid is read as its two named classes, after its scale."""
    column = np.array([64, 255], np.uint8).reshape(shape)
    given: Any = {"kind": "probabilities", "posteriors": column, "posterior_scale": 1 / 256}
    with pytest.raises(StreamError, match="posteriors have one column"):
        tcuq.Stream.load(write(tmp_path / "b.npz", **given))
    path = write(tmp_path / "a.npz", class_names=np.array(["no", "yes"]), **given)
    assert tcuq.Stream.load(path).posteriors.tolist() == [[0.75, 0.25], [1 / 256, 255 / 256]]


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf, [1.0, 2.0], "1", 1j])
def test_bad_scales_are_refused(tmp_path: Path, scale: Any) -> None:
    """A scale is one positive, finite number."""
    path = write(tmp_path / "a.npz", kind="logits", posteriors=HALVES, posterior_scale=scale)
    with pytest.raises(StreamError, match="posterior_scale must be one positive number"):
        tcuq.Stream.load(path)


class Interrupting:
    """A column whose reading is interrupted."""

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        """Raise as Ctrl-C does."""
        raise KeyboardInterrupt

    def __getitem__(self, at: slice) -> NoReturn:
        """Raise as Ctrl-C does."""
        raise KeyboardInterrupt


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("before", [b"what was there", None])
def test_interrupted_save_changes_nothing(
    tmp_path: Path, ending: str, before: bytes | None
) -> None:
    """The old file stays, or no file comes, and nothing is left beside it."""
    path = tmp_path / f"a{ending}"
    if before is not None:
        path.write_bytes(before)
    stream = recorded(50, "float32")
    object.__setattr__(stream, "features", Interrupting())
    with pytest.raises(KeyboardInterrupt):
        stream.save(path)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([] if before is None else [before])


@pytest.mark.parametrize("name", ["a.csv", "a", "a.npz.gz", "a.NPZ"])
def test_other_endings_are_refused(tmp_path: Path, name: str) -> None:
    """The ending gives the format; an unknown one is refused for reading and writing."""
    with pytest.raises(StreamError, match=r"must end in \.npz or \.parquet"):
        tcuq.Stream.load(tmp_path / name)
    with pytest.raises(StreamError, match=r"must end in \.npz or \.parquet"):
        recorded(5, "float32").save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def misread_bytes(path: Path, whole: bytes, flips: Iterable[int], mask: int) -> list[int]:
    """Return the bytes which, flipped by the mask, give neither the same stream nor a refusal."""
    path.write_bytes(whole)
    expected = tcuq.Stream.load(path).sha256

    def same_or_refused(at: int) -> bool:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :])
        try:
            loaded = tcuq.Stream.load(path).sha256
        except StreamError as error:
            return str(error).startswith(f"{path}: ") and "\n" not in str(error)
        return loaded == expected

    return [at for at in flips if not same_or_refused(at)]


def parquet_footer(whole: bytes) -> list[int]:
    """Return the places of a footer that may hold its number of rows: 3, as Thrift has it."""
    begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    return [at for at in range(begin, len(whole)) if whole[at] == 6]


@pytest.mark.parametrize(
    ("ending", "flips", "mask"),
    [
        (".npz", lambda whole: range(0, len(whole), 3), 0xFF),
        (".parquet", lambda whole: range(4, len(whole), 37), 1),
        (".npz", lambda whole: range(whole.find(b"PK\x01\x02"), len(whole)), 0x80),
        (".parquet", parquet_footer, 2),
    ],
    ids=["npz bytes", "parquet bits", "npz directory that hides members", "parquet footer's rows"],
)
def test_a_flipped_byte_is_neither_a_crash_nor_other_data(
    tmp_path: Path, synthetic: Synthetic, ending: str, flips: Flips, mask: int
) -> None:
    """Whichever byte is flipped, the file is refused in one line or gives the same stream."""
    shifted: Any = np.arange(60) > 40
    synthetic(60, starts=[0, 20, 40], shifted=shifted).save(tmp_path / f"a{ending}")
    whole = (tmp_path / f"a{ending}").read_bytes()
    assert misread_bytes(tmp_path / f"a{ending}", whole, flips(whole), mask) == []
