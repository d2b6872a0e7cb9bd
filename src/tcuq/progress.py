# SPDX-License-Identifier: Apache-2.0
"""One line of progress on standard error, shown only on a terminal and only for long work.

Written by hand because a progress library would be the core's second dependency.
"""

import sys
import time
from typing import Self


class Progress:
    """Counts finished items and, on a terminal, rewrites one line with rate and time left.

    Parameters
    ----------
    what
        What is counted, such as "steps".
    total
        How many items there are.
    patience_s
        Seconds of silence before the first line.

    Examples
    --------
    >>> with Progress("steps", total=2) as progress:
    ...     progress.advance(2)
    """

    def __init__(self, what: str, total: int, patience_s: float = 1.0) -> None:
        self.what = what
        self.total = total
        self.patience_s = patience_s
        self._done = 0
        self._started = self._shown = time.monotonic()
        self._visible = sys.stderr.isatty()
        self._drawn_once = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn_once:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def advance(self, items: int = 1) -> None:
        """Count this many more finished items."""
        self._done += items
        now = time.monotonic()
        waited = now - (self._shown if self._drawn_once else self._started)
        if not self._visible or waited < (0.1 if self._drawn_once else self.patience_s):
            return
        rate = max(self._done, 1) / max(now - self._started, 1e-9)
        left_s = (self.total - self._done) / rate
        sys.stderr.write(
            f"\r\x1b[K{self.what}: {self._done:,} of {self.total:,}"
            f" · {rate:,.0f}/s · {left_s:.0f} s left"
        )
        sys.stderr.flush()
        self._shown = now
        self._drawn_once = True
