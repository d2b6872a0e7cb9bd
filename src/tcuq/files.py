# SPDX-License-Identifier: Apache-2.0
"""Atomic writes: write a temporary file, sync it, then rename it."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary binary file and rename it to `path` if the block raises no error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "a.bin"
    >>> with atomic_write(target) as file:
    ...     _ = file.write(b"whole")
    >>> target.read_bytes()
    b'whole'
    """
    target = Path(path)
    if not target.name:
        raise IsADirectoryError(errno.EISDIR, "not the name of a file", str(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with _errors_name(target):
            opened = temporary.open("xb")
        with opened as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _errors_name(target):
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _errors_name(target: Path) -> Iterator[None]:
    """Make errors name the target, not the temporary file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
