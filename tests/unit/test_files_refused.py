# SPDX-License-Identifier: Apache-2.0
"""Files at the edges of the formats: read exactly, or refused in one line."""

import io
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import tcuq
from tcuq.errors import StreamError
from tcuq.files import atomic_write
from tcuq.recording import FORMAT

HALVES = np.full((2, 2), 0.5)
HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2)}"
META = '{"kind": "probabilities", "columns": {"posteriors": ["<f8", 2]}}'

HOSTILE_HEADERS: dict[str, str] = {
    "a key that cannot be one": "{[]: 1}",
    "keys that cannot be sorted": "{'a': 1, 2: 3}",
    "brackets left open": "(" * 50,
    "signs beyond the parser's stack": "-" * 9000 + "1",
    "more than NumPy reads": "[" * 10_500,
    "a truth as length": HEADER.replace("(2, 2)", "(True, 2)"),
    "a length beyond an integer": HEADER.replace("(2, 2)", "(1180591620717411303424, 0)"),
    "Python 2": HEADER.replace("(2, 2)", "(2L, 2L)"),
}

HOSTILE_METADATA: dict[str, str] = {
    "deep array": "[" * 100_000,
    "deep object": '{"a":' * 100_000,
    "infinite width": META.replace(", 2]", ", Infinity]"),
    "column of text": '{"kind": "logits", "columns": {"posteriors": "ab"}}',
}


def npy(values: Any) -> bytes:
    """Return an array as the bytes of an .npy file."""
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def write_npz(path: Path, header: str, **members: bytes) -> None:
    """Write an .npz file of two steps with this header of posteriors and these other members."""
    text = header.encode() + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + HALVES.tobytes()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("posteriors.npy", content)
        archive.writestr("kind.npy", npy("logits"))
        for name, member in members.items():
            archive.writestr(f"{name}.npy", member)


def write_parquet(path: Path, metadata: str, steps: Any) -> None:
    """Write a .parquet file of two steps with this metadata and this number of steps."""
    rows = {"recording": [0], "first_step": [0], "steps": steps, "posteriors": [HALVES.tobytes()]}
    parquet.write_table(pa.table(rows).replace_schema_metadata({FORMAT: metadata}), path)


def refused(path: Path) -> bool:
    """Whether the file is refused, in one line that names it."""
    with pytest.raises(StreamError) as caught:
        tcuq.Stream.load(path)
    return is_one_line(caught.value, path)


def is_one_line(error: Exception, path: Path) -> bool:
    """Whether the message is one line that begins with the path."""
    return str(error).startswith(f"{path}: ") and "\n" not in str(error)


@pytest.mark.parametrize("case", HOSTILE_HEADERS)
def test_hostile_npy_header_is_no_crash(tmp_path: Path, case: str) -> None:
    """A header that breaks or misleads NumPy's parser is refused in one line."""
    write_npz(tmp_path / "a.npz", HOSTILE_HEADERS[case])
    assert refused(tmp_path / "a.npz")


def test_encrypted_npz_is_no_crash(tmp_path: Path, synthetic: Callable[..., tcuq.Stream]) -> None:
    """A member marked as encrypted is refused in one line."""
    path = tmp_path / "a.npz"
    synthetic(width=0).save(path)
    content = bytearray(path.read_bytes())
    content[content.find(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    assert refused(path)


def test_overflowing_scale_is_no_warning(tmp_path: Path) -> None:
    """Values that overflow when scaled are refused in one line."""
    path = tmp_path / "a.npz"
    np.savez(path, kind="logits", posteriors=np.full((2, 2), 1e300), posterior_scale=1e300)
    assert refused(path)


def test_npz_members_of_other_names_are_not_loaded(tmp_path: Path) -> None:
    """Members that are no columns of a stream take no memory."""
    write_npz(tmp_path / "a.npz", HEADER, bomb=npy(np.zeros(30_000_000)))
    tracemalloc.start()
    stream = tcuq.Stream.load(tmp_path / "a.npz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(stream.posteriors, HALVES)
    assert peak < 50e6


@pytest.mark.parametrize("case", HOSTILE_METADATA)
def test_hostile_parquet_metadata_is_no_crash(tmp_path: Path, case: str) -> None:
    """Metadata too deep, infinite or of the wrong shape is refused in one line."""
    write_parquet(tmp_path / "a.parquet", HOSTILE_METADATA[case], [2])
    assert refused(tmp_path / "a.parquet")


@pytest.mark.parametrize("steps", [None, float("inf"), 2.5])
def test_invalid_number_of_steps_is_not_rounded(tmp_path: Path, steps: float | None) -> None:
    """A chunk whose number of steps is missing, infinite or a fraction is refused in one line."""
    kind = pa.int64() if steps is None else pa.float64()
    write_parquet(tmp_path / "a.parquet", META, pa.array([steps], kind))
    assert refused(tmp_path / "a.parquet")


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_stream_that_cannot_be_written_is_a_stream_error(
    tmp_path: Path, synthetic: Callable[..., tcuq.Stream], ending: str
) -> None:
    """A folder that is not there is a StreamError whose one line names the file."""
    path = tmp_path / "none" / f"a{ending}"
    with pytest.raises(StreamError) as caught:
        synthetic(width=0).save(path)
    assert is_one_line(caught.value, path)
    assert ".part" not in str(caught.value)


@pytest.mark.parametrize("path", [".", "", "/", "none/a.bin"])
def test_file_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A path without a file name or in a missing folder is an OSError that names this path."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match=r"\[Errno \d+\]") as caught, atomic_write(path):
        pass
    assert caught.value.filename == path
    assert list(tmp_path.iterdir()) == []
