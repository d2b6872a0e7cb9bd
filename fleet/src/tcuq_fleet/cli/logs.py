# SPDX-License-Identifier: Apache-2.0
"""Logs of the `fleet` commands: one line per event on standard error, as text or as JSON."""

import json
import logging
from datetime import UTC, datetime


class LineFormatter(logging.Formatter):
    """Time in UTC, level, logger and message in one line; an exception follows in the same line."""

    def __init__(self, style: str) -> None:
        super().__init__()
        self._json = style == "json"

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of one event."""
        created = datetime.fromtimestamp(record.created, UTC)
        fields = {
            "time": created.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        if self._json:
            return json.dumps(fields, ensure_ascii=False)
        return " ".join(fields.values()).replace("\n", "\\n")


def set_up_logging(style: str, level: str) -> None:
    """Log to standard error, unless a handler is there already."""
    root = logging.getLogger()
    root.setLevel(level.upper())
    if not root.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(LineFormatter(style))
        root.addHandler(handler)
