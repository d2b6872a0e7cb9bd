# SPDX-License-Identifier: Apache-2.0
"""Secrets: read from files, never from the command line."""

from pathlib import Path

from tcuq.errors import InputError

MAX_CHARACTERS = 1024


def read_secret(path: str) -> str:
    """Read a secret of one line; refuse a file that every user of this machine can read."""
    file = Path(path)
    if file.stat().st_mode & 0o004:
        raise InputError(f"{path} must not be readable by every user: run  chmod 600 {path}")
    with file.open("rb") as opened:
        text = opened.read(4 * MAX_CHARACTERS).decode(errors="replace").strip()
    if not text or len(text) > MAX_CHARACTERS or not text.isprintable():
        raise InputError(f"{path} must hold one line of 1..{MAX_CHARACTERS} printable characters")
    return text


def with_password(database: str, path: str) -> str:
    """Return a connection string with the password of a file; it never reaches a log."""
    from psycopg.conninfo import make_conninfo

    return make_conninfo(database, password=read_secret(path))


def check_no_password(database: str) -> str:
    """Return a database's URL; refuse one with a password, which other users and logs would see."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        holds_one = "password" in conninfo_to_dict(database)
    except ProgrammingError:  # whose message quotes it
        raise ValueError("must be a URL of PostgreSQL: postgresql://role@host/name") from None
    if holds_one:
        raise ValueError(
            "must hold no password: write it to a file of mode 0600 and name the file by"
            " --database-password-file"
        )
    return database
