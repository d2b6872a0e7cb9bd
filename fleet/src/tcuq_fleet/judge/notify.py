# SPDX-License-Identifier: Apache-2.0
"""Notify: deliver stored alarms to webhooks and to Alertmanager, retrying until they arrive.

The table `deliveries` holds the judgement up to which each receiver was notified, so a failed
delivery is repeated later, also by another process. Judging never waits for a delivery.
"""

import hashlib
import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any, LiteralString
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from tcuq.errors import InputError
from tcuq_fleet.judge import alerts
from tcuq_fleet.judge.alerts import AlarmNotice
from tcuq_fleet.store.connection import (
    NOTIFY,
    DatabaseUnavailableError,
    connected,
    next_backoff_s,
)

TIMEOUT_S = 10.0
FIRST_BACKOFF_S, MAX_BACKOFF_S = 1.0, 300.0

# Alarms of muted devices and acknowledged ones are left out. A mute that ended makes an alarm new.
UNDELIVERED: LiteralString = (
    "SELECT"
    + alerts.ALARM_COLUMNS
    + ", greatest(alarms.changed, muted_until) > coalesce(deliveries.judged, '-infinity') AS new"
    + alerts.ALARM_TABLES
    + """
    LEFT JOIN deliveries ON receiver = %(receiver)s
WHERE (alarms.state <> 'closed' AND acknowledged IS NULL
        OR alarms.state = 'closed' AND alarms.changed > deliveries.judged)
    AND coalesce(muted_until, '-infinity') <= now()
ORDER BY alarms.state = 'escalated' DESC, alarm
"""
)

DELIVERED: LiteralString = """
INSERT INTO deliveries (receiver, judged) VALUES (%(receiver)s, %(judged)s)
ON CONFLICT (receiver) DO UPDATE SET judged = greatest(deliveries.judged, excluded.judged)
"""

log = logging.getLogger("tcuq_fleet.judge.notify")


@dataclass(frozen=True, slots=True)
class Receiver:
    """A URL to notify, and the function that makes the body to POST; an empty body is not sent."""

    url: str
    body: Callable[[list[AlarmNotice], datetime], Any]

    def __post_init__(self) -> None:
        if not _is_plain(self.url):
            kind = self.url.partition(":")[0]  # the rest may hold a secret
            raise InputError(
                "a receiver must be http://host[:port]/... or https://host[:port]/... without user,"
                f" password, spaces and other characters than ASCII, got {kind}:..."
            )

    @property
    def name(self) -> str:
        """The receiver's key in the store: a hash, because the URL may hold a secret."""
        return hashlib.sha256(self.url.encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """The receiver in metrics: its host, and as many digits of its key as tell two apart."""
        return f"{self.host}/{self.name[:4]}"

    @property
    def host(self) -> str:
        """The host for messages and logs, without path, query and password."""
        return str(urlsplit(self.url).hostname)


def _is_plain(url: str) -> bool:
    """Return whether a URL names a host that a request can be sent to without an error about it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    written = url.isascii() and url.isprintable() and " " not in url
    named = bool(parts.hostname) and "@" not in parts.netloc and port != 0
    return parts.scheme in ("http", "https") and written and named


def webhook(url: str, dashboard: str | None = None) -> Receiver:
    """Create a receiver of the alarms that changed, as JSON; `dashboard` is the URL for links."""
    return Receiver(
        url,
        lambda alarms, judged: alerts.webhook_message(
            [alarm for alarm in alarms if alarm.new], judged, dashboard
        ),
    )


def alertmanager(server: str, lasting_s: float, dashboard: str | None = None) -> Receiver:
    """Create a receiver of all active alarms each time; an alert that is not repeated expires."""
    return Receiver(
        server.rstrip("/") + "/api/v2/alerts",
        lambda alarms, _: alerts.alertmanager_alerts(
            alarms, datetime.now(UTC), lasting_s, dashboard
        ),
    )


def deliver(database: str, receiver: Receiver) -> bool:
    """Deliver what is new to a receiver; return whether there was anything.

    Raises OSError, HTTPException or `DatabaseUnavailableError`; the next call delivers it again.
    """
    from psycopg.rows import class_row

    values: dict[str, Any] = {"receiver": receiver.name}
    with connected(database, NOTIFY) as connection:
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            ((judged,),) = connection.execute("SELECT max(judged) FROM judgements").fetchall()
            with connection.cursor(row_factory=class_row(AlarmNotice)) as cursor:
                alarms = cursor.execute(UNDELIVERED, values).fetchall()
        if judged is None:
            return False
        body = receiver.body(alarms, judged)
        if body:
            _post(receiver.url, json.dumps(body).encode())
        connection.execute(DELIVERED, {**values, "judged": judged})
    return bool(body)


class _NoRedirect(HTTPRedirectHandler):
    """Refuses redirects: a redirected POST becomes a GET, and its alarms would be lost."""

    def redirect_request(self, *_: object) -> None:
        """Return no request, which makes the response an error."""


def _post(url: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "User-Agent": "tcuq"}
    request = Request(url, body, headers, method="POST")  # noqa: S310 - a Receiver's, http or https
    with build_opener(_NoRedirect).open(request, timeout=TIMEOUT_S) as response:
        response.read(1 << 16)


class Notifier(threading.Thread):
    """Delivers to one receiver in its own thread, with exponential backoff after failures."""

    def __init__(
        self, database: str, receiver: Receiver, on_delivery: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(daemon=True, name=f"notifier of {receiver.host}")
        self._database, self._receiver = database, receiver
        self._on_delivery = on_delivery
        self._wake, self._stopping = threading.Event(), False

    def notify(self) -> None:
        """Start a delivery, after a new judgement."""
        self._wake.set()

    def stop(self, timeout_s: float = TIMEOUT_S) -> None:
        """Stop the thread after the delivery in progress."""
        self._stopping = True
        self._wake.set()
        self.join(timeout_s)

    def run(self) -> None:
        """Deliver whenever notified, until stopped."""
        delay_s = 0.0
        while True:
            self._wake.wait(delay_s or None)
            if self._stopping:
                return
            self._wake.clear()
            delivered = attempt(self._database, self._receiver)
            if delivered:
                self._on_delivery()
            delay_s = 0.0 if delivered else next_backoff_s(delay_s, FIRST_BACKOFF_S, MAX_BACKOFF_S)


def attempt(database: str, receiver: Receiver) -> bool:
    """Deliver once; log a failure and return False."""
    try:
        deliver(database, receiver)
    except (OSError, HTTPException, DatabaseUnavailableError) as error:
        log.warning("alarms could not be delivered to %s yet: %s", receiver.host, error)
        return False
    return True
