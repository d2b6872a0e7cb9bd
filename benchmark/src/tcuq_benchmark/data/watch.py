# SPDX-License-Identifier: Apache-2.0
"""Seven shoulder exercises on a watch (Burns and others 2018): 10 persons, 140 series.

The published .npy is a pickle. It is opened only if its hash is the manifest's, by a restricted
reader that builds plain arrays and containers and calls nothing else.
"""

import io
import pickle
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tcuq_benchmark.data.files import DataDamagedError, checked_files
from tcuq_benchmark.data.samples import Part, Recording, group_split

NAME = "watch"
CLASSES = ("PEN", "ABD", "FEL", "IR", "ER", "TRAP", "ROW")
PERSONS: dict[Part, int] = {"train": 4, "calibration": 2, "development": 1, "test": 3}
HEADER_BYTES = 128  # of an .npy, format 1.0


def load() -> dict[Part, tuple[Recording, ...]]:
    """Return series by person, side and exercise, one label each; no person in two parts."""
    (path,) = checked_files(NAME).values()
    table = plain_table(path)
    person, label = table["subject"].astype(int), table["y"].astype(int)
    order = np.lexsort([label, table["side"], person])
    recordings = [
        Recording(
            f"person{person[i]:02d}_{'LR'[int(table['side'][i])]}_{CLASSES[label[i]]}",
            int(person[i]),
            table["X"][i].astype(np.float32),
            np.full(len(table["X"][i]), label[i], np.int64),
        )
        for i in order
    ]
    rows = group_split(np.array([r.person for r in recordings]), PERSONS)
    return {part: tuple(recordings[i] for i in chosen) for part, chosen in rows.items()}


def plain_table(path: Path) -> dict[str, Any]:
    """Return the columns of the published table."""
    content = PlainReader(io.BytesIO(path.read_bytes()[HEADER_BYTES:])).load()
    table = content.item() if isinstance(content, np.ndarray) else content
    if not isinstance(table, dict) or tuple(table["y_labels"]) != CLASSES:
        raise DataDamagedError(f"{path} must be a table with the exercises {CLASSES}")
    return table


class PlainReader(pickle.Unpickler):
    """Reads pickles made of numbers, strings, lists, dicts and arrays; refuses everything else."""

    def find_class(self, module: str, name: str) -> object:
        """Return replacements for the four names that such a pickle needs."""
        allowed = {
            ("numpy.core.multiarray", "_reconstruct"): _empty,
            ("numpy", "ndarray"): np.ndarray,
            ("numpy", "dtype"): _dtype,
            ("_codecs", "encode"): _bytes,
        }
        return allowed.get((module, name)) or _refuse(module, name)

    def persistent_load(self, pid: object) -> NoReturn:
        """Refuse references to objects outside the file."""
        _refuse("persistent", str(pid))


def _empty(_kind: type, _shape: tuple[int, ...], _code: bytes) -> NDArray[np.int8]:
    return np.empty(0, np.int8)  # shape, type and content come with the state


def _dtype(code: str, _align: int, _copy: int) -> np.dtype[Any]:
    return np.dtype(code)


def _bytes(text: str, encoding: str) -> bytes:
    return text.encode(encoding)


def _refuse(module: str, name: str) -> NoReturn:
    raise DataDamagedError(f"the file asks for {module}.{name}, which no table needs")
