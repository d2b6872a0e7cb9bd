# SPDX-License-Identifier: Apache-2.0
"""Files that appear whole or not at all: write aside, then rename."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that takes its name only when the block ends without an error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "a.bin"
    >>> with written_whole(target) as file:
    ...     _ = file.write(b"whole")
    >>> target.read_bytes()
    b'whole'
    """
    target = Path(path)
    if not target.name:
        raise IsADirectoryError(errno.EISDIR, "not the name of a file", str(path))
    aside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with _naming(target):
            opened = aside.open("xb")
        with opened as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _naming(target):
            aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def _naming(target: Path) -> Iterator[None]:
    """Errors name the file that was asked for, not the one beside it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
