# SPDX-License-Identifier: Apache-2.0
"""Files that are damaged or hostile: always a StreamError, in one line that names the path."""

import io
import json
import re
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
from tcuq.recording import FORMAT, MAX_COLUMN_BYTES

HALVES = np.full((2, 2), 0.5)
ROWS = {"recording": [0], "first_step": [0], "steps": [2], "posteriors": [HALVES.tobytes()]}
BROKEN = "not a readable stream"
META = {"kind": "probabilities", "columns": {"posteriors": ["<f8", 2]}}


def npy(value: Any, *, pickled: bool = False) -> bytes:
    """Return an array as the bytes of an .npy file."""
    file = io.BytesIO()
    np.save(file, value, allow_pickle=pickled)
    return file.getvalue()


def npy_headed(header: str) -> bytes:
    """Return an .npy file of four floats with this header."""
    text = f"{header}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + HALVES.tobytes()


def npy_claiming(shape: str, descr: str = "'<f8'") -> bytes:
    """Return an .npy file of four floats whose header claims something else."""
    return npy_headed(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}")


def npz(**members: Any) -> Callable[[Path], None]:
    """Writes an .npz file: columns as arrays, or bytes as they are."""

    def make(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, value in {"kind": "probabilities", "posteriors": HALVES, **members}.items():
                if value is not None:
                    content = value if isinstance(value, bytes) else npy(np.asarray(value))
                    archive.writestr(f"{name}.npy", content)

    return make


def raw(content: bytes) -> Callable[[Path], None]:
    """Writes a file of these bytes."""

    def make(path: Path) -> None:
        path.write_bytes(content)

    return make


def table(meta: object = META, **rows: Any) -> Callable[[Path], None]:
    """Writes a .parquet file with this metadata and these columns."""

    def make(path: Path) -> None:
        columns = {name: values for name, values in {**ROWS, **rows}.items() if values is not None}
        text = meta if isinstance(meta, str) else json.dumps(meta)
        parquet.write_table(pa.table(columns).replace_schema_metadata({FORMAT: text}), path)

    return make


def columns(**changed: Any) -> dict[str, Any]:
    """The metadata with these columns."""
    return {**META, "columns": changed}


BAD_NPZ: dict[str, tuple[Callable[[Path], None], str]] = {
    "empty": (raw(b""), BROKEN),
    "garbage": (raw(b"\x00\xff" * 500), BROKEN),
    "text": (raw(b"step,posterior\n0,0.5\n"), BROKEN),
    "a pickle": (raw(b"\x80\x04\x95\x00."), BROKEN),
    "an .npy": (raw(npy(HALVES)), BROKEN),
    "no kind": (npz(kind=None), "kind is missing"),
    "no posteriors": (npz(posteriors=None), "posteriors are missing"),
    "foreign kind": (npz(kind="votes"), "kind must be one of probabilities, logits, outputs, got"),
    "objects": (npz(labels=npy(np.array([{}, 1], object), pickled=True)), "Python objects"),
    "objects in a record": (npz(labels=npy_claiming("(4,)", "[('a', '|O')]")), "Python objects"),
    "a header of 32 TB": (npz(posteriors=npy_claiming("(2000000, 2000000)")), "32000000000000"),
    "a header of one row more": (npz(posteriors=npy_claiming("(200, 2)")), "claims 3200 bytes"),
    "a header of less than nothing": (npz(posteriors=npy_claiming("(-1, 2)")), BROKEN),
    "a header of no type": (npz(posteriors=npy_claiming("(2, 2)", "'zz'")), BROKEN),
    "a header with a key that cannot be one": (npz(posteriors=npy_headed("{[]: 1}")), BROKEN),
    "a header whose keys have no order": (npz(posteriors=npy_headed("{'a': 1, 2: 3}")), BROKEN),
    "a header with open brackets": (npz(posteriors=npy_headed("(" * 50)), BROKEN),
    "a header beyond the parser's stack": (npz(posteriors=npy_headed("-" * 9000 + "1")), BROKEN),
    "a header of more than NumPy reads": (npz(posteriors=npy_headed("[" * 10_500)), BROKEN),
    "a header with a truth as length": (npz(posteriors=npy_claiming("(True, 2)")), BROKEN),
    "a header of 2^70 rows": (npz(posteriors=npy_claiming(f"({2**70}, 0)")), BROKEN),
    "a header of Python 2": (npz(posteriors=npy_claiming("(2L, 2L)")), BROKEN),
    "a scale that overflows": (npz(posteriors=HALVES * 1e300, posterior_scale=1e300), "finite"),
    "not an array": (npz(features=b"hello"), BROKEN),
    "strings": (npz(posteriors=[["a", "b"]]), "posteriors must not have dtype <U1"),
    "complex": (npz(posteriors=HALVES * 1j), "posteriors must not have dtype complex128"),
    "labels as floats": (npz(labels=[0.0, 1.0]), "labels must not have dtype float64"),
    "shifted as integers": (npz(shifted=[0, 1]), "shifted must not have dtype int64"),
    "starts as booleans": (npz(starts=[True]), "starts must not have dtype bool"),
    "not normalised": (npz(posteriors=2 * HALVES), "must sum to 1"),
    "label out of range": (npz(labels=[0, 7]), "labels must lie in 0..1"),
    "no steps": (npz(posteriors=HALVES[:0]), "at least 1 step"),
    "class names too few": (npz(class_names=["a"]), "classes must be 2 different names"),
    "class names as numbers": (npz(class_names=[1, 2]), "classes must be a list of names"),
}
BAD_PARQUET: dict[str, tuple[Callable[[Path], None], str]] = {
    "empty": (raw(b""), BROKEN),
    "garbage": (raw(b"\x00\xff" * 500), BROKEN),
    "no metadata": (table(meta=None), f"metadata must hold '{FORMAT}'"),
    "metadata of another kind": (table(meta=[1]), f"metadata must hold '{FORMAT}'"),
    "no kind": (table(meta={"columns": META["columns"]}), "'kind'"),
    "foreign kind": (table(meta={**META, "kind": "votes"}), "got 'votes'"),
    "no posteriors": (table(meta=columns()), "posteriors are missing"),
    "unknown column": (table(meta=columns(notes=["<f8", 0])), "column 'notes'"),
    "objects": (table(meta=columns(posteriors=["O", 2])), "dtype 'O' is not known"),
    "no such type": (table(meta=columns(posteriors=["zzz", 2])), "'zzz'"),
    "width of text": (table(meta=columns(posteriors=["<f8", "x"])), "got x"),
    "width too large": (table(meta=columns(posteriors=["<f8", 3])), "must hold 48 bytes"),
    "steps too many": (table(steps=[3]), "must hold 48 bytes for 3 steps, got 32"),
    "steps negative": (table(steps=[-2]), "-2 steps"),
    "steps of text": (table(steps=["two"]), "must be int64"),
    "column missing": (table(posteriors=None), BROKEN),
    "steps missing": (table(steps=None), BROKEN),
    "posteriors of numbers": (table(posteriors=[3]), BROKEN),
    "width negative": (table(meta=columns(posteriors=["<f8", -2])), "must not be negative, got -2"),
    "class names too few": (table(meta={**META, "class_names": ["a"]}), "2 different names"),
    "class names nested": (table(meta={**META, "class_names": [["a"], ["b"]]}), "a list of names"),
    "class names as numbers": (table(meta={**META, "class_names": 7}), "a list of names"),
    "metadata of deep arrays": (table(meta="[" * 100_000), BROKEN),
    "metadata of deep objects": (table(meta='{"a":' * 100_000), BROKEN),
    "width infinite": (table(meta=columns(posteriors=["<f8", float("inf")])), "inf"),
    "column of text": (table(meta=columns(posteriors="ab")), "posteriors"),
    "steps null": (table(steps=pa.array([None], pa.int64())), "must be int64 without nulls"),
    "steps infinite": (table(steps=[float("inf")]), "must be int64 without nulls"),
    "steps of a fraction": (table(steps=[2.5]), "must be int64 without nulls"),
    "no rows": (table(**{name: pa.array([], pa.int64()) for name in ROWS}), "1 step, got 0"),
}


def refusal(path: Path) -> str:
    """Return the message of a refused file: one line that names it."""
    with pytest.raises(StreamError) as caught:
        tcuq.Stream.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("case", BAD_NPZ)
def test_bad_npz_is_refused(tmp_path: Path, case: str) -> None:
    """Nothing is unpickled, and the message names the fault."""
    make, rule = BAD_NPZ[case]
    make(tmp_path / "a.npz")
    assert rule in refusal(tmp_path / "a.npz")


@pytest.mark.parametrize("case", BAD_PARQUET)
def test_bad_parquet_is_refused(tmp_path: Path, case: str) -> None:
    """Metadata and columns must agree."""
    make, rule = BAD_PARQUET[case]
    make(tmp_path / "a.parquet")
    assert rule in refusal(tmp_path / "a.parquet")


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_truncated_files_are_refused(tmp_path: Path, ending: str) -> None:
    """A file cut off anywhere is refused."""
    path = tmp_path / f"a{ending}"
    tcuq.Stream(np.tile(HALVES, (50, 1)), starts=[0, 60]).save(path)
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 25).astype(int):
        path.write_bytes(whole[:length])
        refusal(path)


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_absent_files_and_folders_are_refused(tmp_path: Path, ending: str) -> None:
    """A path without a file is refused with the reason."""
    assert "no such file" in refusal(tmp_path / f"none{ending}").lower()
    (tmp_path / f"folder{ending}").mkdir()
    assert "directory" in refusal(tmp_path / f"folder{ending}")


def test_size_is_bounded_before_it_is_allocated(tmp_path: Path) -> None:
    """A header beyond the bound is refused even where the archive claims to hold as much."""
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("posteriors.npy", npy_claiming(f"({MAX_COLUMN_BYTES // 16 + 1}, 2)"))
        archive.getinfo("posteriors.npy").file_size = 2 * MAX_COLUMN_BYTES
    assert f"claims {MAX_COLUMN_BYTES + 16} bytes" in refusal(path)


def test_encrypted_npz_is_no_crash(tmp_path: Path, synthetic: Callable[..., tcuq.Stream]) -> None:
    """A member marked as encrypted is refused in one line."""
    path = tmp_path / "a.npz"
    synthetic(width=0).save(path)
    content = bytearray(path.read_bytes())
    content[content.find(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    refusal(path)


def test_npz_members_of_other_names_are_not_loaded(tmp_path: Path) -> None:
    """Members that are no columns of a stream take no memory."""
    np.savez_compressed(
        tmp_path / "a.npz", kind="logits", posteriors=HALVES, bomb=np.zeros(3 * 10**7)
    )
    tracemalloc.start()
    stream = tcuq.Stream.load(tmp_path / "a.npz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(stream.posteriors, HALVES)
    assert peak < 50e6


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_stream_that_cannot_be_written_is_a_stream_error(
    tmp_path: Path, synthetic: Callable[..., tcuq.Stream], ending: str
) -> None:
    """A folder that is not there is a StreamError whose one line names the file."""
    path = tmp_path / "none" / f"a{ending}"
    with pytest.raises(StreamError, match=f"^{re.escape(str(path))}: [^\n]*$") as caught:
        synthetic(width=0).save(path)
    assert ".part" not in str(caught.value)
