# SPDX-License-Identifier: Apache-2.0
"""The log of finished trials, one per line, so that an interrupted search resumes."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from tcuq.errors import FitError
from tcuq.tune.grid import Candidate
from tcuq.tune.trial import Trial


class TrialLog:
    """Trials in a file of JSON lines; the first line is a header.

    Parameters
    ----------
    path
        The file; created if it does not exist.
    header
        The stream, library and device; a log with another header is refused.
    """

    def __init__(self, path: str | os.PathLike[str], header: Mapping[str, object]) -> None:
        self.path: Path = Path(path)
        self._trials: dict[str, Trial] = {}
        lines = self._complete_lines()
        if not lines:
            self._append(header)
            return
        if lines[0] != _line(header):
            raise FitError(
                f"{self.path}: holds trials of another stream, version or device;"
                " remove it, or name another output"
            )
        for number, line in enumerate(lines[1:], start=2):
            try:
                trial = Trial.from_json(json.loads(line))
            except (ValueError, TypeError, LookupError):
                raise FitError(f"{self.path}: line {number} is no trial; remove it") from None
            self._trials[_key(trial.options)] = trial

    def _complete_lines(self) -> list[bytes]:
        """The lines of the file; a last line cut off by an interruption is removed."""
        content = self.path.read_bytes() if self.path.is_file() else b""
        lines = [line for line in content.splitlines(keepends=True) if line.endswith(b"\n")]
        if content and not content.endswith(b"\n"):
            os.truncate(self.path, sum(map(len, lines)))
        return lines

    def get(self, candidate: Candidate) -> Trial | None:
        """The finished trial of a candidate, or None."""
        return self._trials.get(_key(candidate))

    def add(self, trial: Trial) -> None:
        """Append a finished trial; it is on disk when this returns."""
        self._append(trial.as_json())
        self._trials[_key(trial.options)] = trial

    def _append(self, document: Mapping[str, object]) -> None:
        with self.path.open("ab") as file:
            file.write(_line(document))
            file.flush()
            os.fsync(file.fileno())


def _line(document: Mapping[str, object]) -> bytes:
    return json.dumps(document).encode() + b"\n"


def _key(candidate: Candidate) -> str:
    return json.dumps(candidate, sort_keys=True)
