# SPDX-License-Identifier: Apache-2.0
"""Files of the cache appear whole or not at all: written under another name, then renamed."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PART = ".part"


@contextmanager
def appearing(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file that takes its name only when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    try:
        with aside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def cache_root() -> Path:
    """`$TCUQ_CACHE`, by default ~/.cache/tcuq."""
    return Path(os.environ.get("TCUQ_CACHE") or Path.home() / ".cache" / "tcuq")
