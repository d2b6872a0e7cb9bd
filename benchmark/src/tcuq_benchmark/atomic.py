# SPDX-License-Identifier: Apache-2.0
"""Atomic writes for the cache: a file is written under a temporary name, then renamed."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PART = ".part"


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file that takes its name only when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def cache_root() -> Path:
    """`$TCUQ_CACHE`, by default ~/.cache/tcuq."""
    return Path(os.environ.get("TCUQ_CACHE") or Path.home() / ".cache" / "tcuq")
