# SPDX-License-Identifier: Apache-2.0
"""Child: start a program that ends with the process that started it, also if that is killed.

The kernel sends the signal (Linux; elsewhere only an orderly stop ends the program). A small
program sets it and then executes the real one: code between fork and exec is unsafe with threads.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

_BECOME = """
import ctypes, os, pwd, sys
number, parent, account, *line = sys.argv[1:]
if account:
    entry = pwd.getpwnam(account)
    os.initgroups(account, entry.pw_gid)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, int(number))  # PR_SET_PDEATHSIG; a change of user resets it
if os.getppid() == int(parent):
    os.execv(line[0], line)
"""


def start_child(
    line: list[str],
    output: IO[bytes],
    *,
    death_signal: signal.Signals = signal.SIGTERM,
    account: str | None = None,
    folder: Path | None = None,
) -> "subprocess.Popen[bytes]":
    """Start a program in a session of its own: Ctrl-C and a closed terminal do not reach it.

    `line` is an absolute path and arguments, `folder` the working folder. The kernel sends the
    death signal when the thread that calls ends, so that thread must live as long as this process.
    Root may start the program as another account.
    """
    become = [sys.executable, "-I", "-S", "-c", _BECOME]
    return subprocess.Popen(
        [*become, str(int(death_signal)), str(os.getpid()), account or "", *line],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
        cwd=folder,
    )
