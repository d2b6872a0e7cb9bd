# SPDX-License-Identifier: Apache-2.0
"""The cache of data, network outputs, weights and figures: `$TCUQ_CACHE`, else ~/.cache/tcuq."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tcuq.files import atomic_write


def cache_root() -> Path:
    """Return the folder of the cache."""
    return Path(os.environ.get("TCUQ_CACHE") or Path.home() / ".cache" / "tcuq")


@contextmanager
def write_entry(path: Path) -> Iterator[BinaryIO]:
    """Write an entry atomically, in a new folder if it is the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        yield file
