# SPDX-License-Identifier: Apache-2.0
"""The exceptions, as a tree.

TcuqError
├── InputError         a posterior, feature, label or option breaks a stated rule (ValueError)
├── StreamError        a recorded stream's file cannot be read or written (ValueError)
├── ProfileError       a profile is damaged, foreign or inconsistent (ValueError)
├── SnapshotError      a snapshot is damaged or belongs to another profile (ValueError)
├── ExportError        a profile cannot be exported, or a folder is not an export (ValueError)
├── FitError           the streams given cannot yield a profile (ValueError)
└── MissingExtraError  an optional library is not installed (ImportError)

CalibrationWarning     a profile was fitted, but guarantees less than requested (UserWarning)
"""


class TcuqError(Exception):
    """Anything this library raises on purpose."""


class InputError(TcuqError, ValueError):
    """An input breaks a stated rule."""


class StreamError(TcuqError, ValueError):
    """A recorded stream's file cannot be read or written."""


class ProfileError(TcuqError, ValueError):
    """A profile is damaged, foreign or inconsistent."""


class SnapshotError(TcuqError, ValueError):
    """A snapshot is damaged or belongs to another profile."""


class ExportError(TcuqError, ValueError):
    """A profile cannot be exported, or a folder is not what was exported."""


class FitError(TcuqError, ValueError):
    """The streams given cannot yield a profile."""


class MissingExtraError(TcuqError, ImportError):
    """An optional library is not installed."""

    def __init__(self, library: str, requirement: str) -> None:
        super().__init__(f"{library} is not installed: run  pip install '{requirement}'")


class CalibrationWarning(UserWarning):
    """A profile was fitted, but a guarantee is weaker than requested."""
