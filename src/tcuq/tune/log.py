# SPDX-License-Identifier: Apache-2.0
"""The log of finished trials, a line each: what was done is not done again."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from tcuq.errors import FitError
from tcuq.tune.grid import Candidate
from tcuq.tune.trial import Trial


class TrialLog:
    """Trials in a file of JSON lines under a first line that says what they are of.

    Parameters
    ----------
    path
        Begun if it is not there.
    of
        The stream, library and device; a log of others is refused.
    """

    def __init__(self, path: str | os.PathLike[str], of: Mapping[str, object]) -> None:
        self.path = Path(path)
        self._done: dict[str, Trial] = {}
        whole = self._whole_lines()
        if not whole:
            self._append(of)
            return
        if whole[0] != _line(of):
            raise FitError(
                f"{self.path}: holds trials of another stream, version or device;"
                " remove it, or name another output"
            )
        for number, line in enumerate(whole[1:], start=2):
            try:
                trial = Trial.from_json(json.loads(line))
            except (ValueError, TypeError, LookupError):
                raise FitError(f"{self.path}: line {number} is no trial; remove it") from None
            self._done[_key(trial.options)] = trial

    def _whole_lines(self) -> list[bytes]:
        """The lines held so far; a last one that was cut off while it was written is dropped."""
        held = self.path.read_bytes() if self.path.is_file() else b""
        whole = [line for line in held.splitlines(keepends=True) if line.endswith(b"\n")]
        if held and not held.endswith(b"\n"):
            os.truncate(self.path, sum(map(len, whole)))
        return whole

    def get(self, candidate: Candidate) -> Trial | None:
        """The trial of a candidate if it was finished."""
        return self._done.get(_key(candidate))

    def add(self, trial: Trial) -> None:
        """Keep a finished trial, on disk when this returns."""
        self._append(trial.as_json())
        self._done[_key(trial.options)] = trial

    def _append(self, document: Mapping[str, object]) -> None:
        with self.path.open("ab") as file:
            file.write(_line(document))
            file.flush()
            os.fsync(file.fileno())


def _line(document: Mapping[str, object]) -> bytes:
    return json.dumps(document).encode() + b"\n"


def _key(candidate: Candidate) -> str:
    return json.dumps(candidate, sort_keys=True)
