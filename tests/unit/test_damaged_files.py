# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.errors import StreamError
from tcuq.files import atomic_write

Synthetic = Callable[..., tcuq.Stream]


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


@pytest.fixture
def full(synthetic: Synthetic) -> tcuq.Stream:
    """A stream of three recordings with every column."""
    shifted: Any = np.arange(60) > 40
    return synthetic(60, starts=[0, 20, 40], shifted=shifted)


def test_flipped_byte_in_an_npz_is_neither_a_crash_nor_other_data(
    tmp_path: Path, synthetic: Synthetic
) -> None:
    """Whichever byte is flipped, the file is refused in one line or gives the same stream."""
    path = tmp_path / "a.npz"
    synthetic(width=0).save(path)
    whole = path.read_bytes()
    assert misread_bytes(path, whole, range(0, len(whole), 3), 0xFF) == []


def test_flipped_bit_in_a_parquet_is_neither_a_crash_nor_other_data(
    tmp_path: Path, synthetic: Synthetic
) -> None:
    """Whichever bit is flipped, the file is refused in one line or gives the same stream."""
    path = tmp_path / "a.parquet"
    synthetic(width=0).save(path)
    whole = path.read_bytes()
    assert misread_bytes(path, whole, range(4, len(whole), 37), 1) == []


def test_flipped_bit_in_an_npz_directory_loses_no_column(tmp_path: Path, full: tcuq.Stream) -> None:
    """A directory that hides members behind a comment is refused."""
    path = tmp_path / "a.npz"
    full.save(path)
    whole = path.read_bytes()
    assert misread_bytes(path, whole, range(whole.find(b"PK\x01\x02"), len(whole)), 0x80) == []


def test_flipped_bit_in_a_parquet_footer_loses_no_recording(
    tmp_path: Path, full: tcuq.Stream
) -> None:
    """A footer whose row group says fewer rows than the file is refused."""
    path = tmp_path / "a.parquet"
    full.save(path)
    whole = path.read_bytes()
    begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    three_rows = [at for at in range(begin, len(whole)) if whole[at] == 6]  # zigzag, as Thrift
    assert misread_bytes(path, whole, three_rows, 2) == []


def test_folder_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    """When the final rename fails, the error names the target."""
    with pytest.raises(IsADirectoryError) as caught, atomic_write(tmp_path):
        pass
    assert caught.value.filename == str(tmp_path)
