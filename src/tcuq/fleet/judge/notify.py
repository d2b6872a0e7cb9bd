# SPDX-License-Identifier: Apache-2.0
"""Notify: alarms told to a webhook or to Alertmanager, after they are stored, until they arrive.

The store knows up to which judgement each receiver was told, so what could not be delivered is
told later, also by another process. Judging never waits for it.
"""

import hashlib
import json
import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any, LiteralString
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from tcuq.errors import InputError
from tcuq.fleet.judge.alerts import Alarm, alertmanager_alerts, webhook_message

TIMEOUT_S = 10.0
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 300.0

NEWS: LiteralString = """
SELECT kind::text, state::text, device, profile, firmware, sites.name AS site, opened, changed,
    evidence, changed > coalesce(told.judged, '-infinity') AS new
FROM alarms LEFT JOIN sites USING (site) LEFT JOIN told ON receiver = %(receiver)s
WHERE state <> 'closed' OR changed > told.judged
ORDER BY state = 'escalated' DESC, alarm
"""

TOLD: LiteralString = """
INSERT INTO told (receiver, judged) VALUES (%(receiver)s, %(judged)s)
ON CONFLICT (receiver) DO UPDATE SET judged = greatest(told.judged, excluded.judged)
"""

log = logging.getLogger("tcuq.fleet.judge.notify")


@dataclass(frozen=True, slots=True)
class Receiver:
    """Who is told: an address, and what to POST there (nothing, if that is empty)."""

    url: str
    body: Callable[[list[Alarm], datetime], Any]

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("http", "https") or not urlsplit(self.url).hostname:
            raise InputError(f"a receiver must be http://host or https://host, got {self.url!r}")

    @property
    def name(self) -> str:
        """For the store: the address may hold a secret."""
        return hashlib.sha256(self.url.encode()).hexdigest()[:16]

    @property
    def place(self) -> str:
        """For people: where it is, without path, query and password."""
        return str(urlsplit(self.url).hostname)


def webhook(url: str) -> Receiver:
    """Told what changed, as JSON."""
    return Receiver(
        url,
        lambda alarms, judged: webhook_message([alarm for alarm in alarms if alarm.new], judged),
    )


def alertmanager(server: str, lasting_s: float) -> Receiver:
    """Told all that stands, each time; an alert ends by itself if nothing more is heard."""
    return Receiver(
        server.rstrip("/") + "/api/v2/alerts",
        lambda alarms, _: alertmanager_alerts(alarms, datetime.now(UTC), lasting_s),
    )


def deliver(database: str, receiver: Receiver) -> bool:
    """Tell a receiver what it does not know yet; whether anything was to be told.

    Raises OSError, HTTPException or psycopg's errors if it could not be, and nothing is lost.
    """
    import psycopg
    from psycopg.rows import class_row

    values: dict[str, Any] = {"receiver": receiver.name}
    with psycopg.connect(database, autocommit=True) as connection:
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            ((judged,),) = connection.execute("SELECT max(judged) FROM judgements").fetchall()
            with connection.cursor(row_factory=class_row(Alarm)) as cursor:
                alarms = cursor.execute(NEWS, values).fetchall()
        if judged is None:
            return False
        body = receiver.body(alarms, judged)
        if body:
            _post(receiver.url, json.dumps(body).encode())
        connection.execute(TOLD, {**values, "judged": judged})
    return bool(body)


class _Stay(HTTPRedirectHandler):
    """A POST that is sent elsewhere becomes a GET: its alarms would be lost as if told."""

    def redirect_request(self, *_: object) -> None:
        """Never: the answer is then an error."""


def _post(url: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "User-Agent": "tcuq"}
    request = Request(url, body, headers, method="POST")  # noqa: S310 - a Receiver's, http or https
    with build_opener(_Stay).open(request, timeout=TIMEOUT_S) as answer:
        answer.read(1 << 16)


class Courier(threading.Thread):
    """Delivers to one receiver, again and again with longer waits, while judging goes on."""

    def __init__(self, database: str, receiver: Receiver) -> None:
        super().__init__(daemon=True, name=f"courier to {receiver.place}")
        self._database, self._receiver = database, receiver
        self._news, self._stopping = threading.Event(), False

    def tell(self) -> None:
        """There is a new judgement."""
        self._news.set()

    def stop(self, patience_s: float = TIMEOUT_S) -> None:
        """After what is being delivered."""
        self._stopping = True
        self._news.set()
        self.join(patience_s)

    def run(self) -> None:
        """Until stopped."""
        failures = 0
        while True:
            self._news.wait(_pause(failures) if failures else None)
            if self._stopping:
                return
            self._news.clear()
            failures = 0 if attempt(self._database, self._receiver) else failures + 1


def attempt(database: str, receiver: Receiver) -> bool:
    """Deliver once; a failure is logged, and False."""
    from psycopg import Error

    try:
        deliver(database, receiver)
    except (OSError, HTTPException, Error) as error:
        log.warning("alarms could not be told to %s yet: %s", receiver.place, error)
        return False
    return True


def _pause(failures: int) -> float:
    """Doubling, with jitter: receivers that come back are not met by everyone at once."""
    longest = min(FIRST_WAIT_S * 2.0 ** min(failures - 1, 20), LONGEST_WAIT_S)
    return random.uniform(0.5, 1.0) * longest  # noqa: S311 - a wait, no secret
