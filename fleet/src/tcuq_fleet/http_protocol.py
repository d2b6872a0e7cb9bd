# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 protocol with limits on slow clients.

uvicorn itself waits indefinitely for the rest of a request, and refuses everybody once a number of
connections is open. Here a request must arrive, and its response be taken, within a time. Of too
many open connections, the one that has waited longest for its request is closed.
"""

from asyncio import TimerHandle, Transport

from h11 import IDLE, SEND_BODY
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 15.0  # from the connection, or the last response, to the end of the request
RESPONSE_S = 60.0  # from then to the end of the response
MAX_CONNECTIONS = 200


class BoundedProtocol(H11Protocol):
    """One connection."""

    _timer: TimerHandle | None = None
    _opened = 0.0

    @property
    def is_waiting(self) -> bool:
        """Whether the request is not complete yet."""
        return self.conn.their_state in (IDLE, SEND_BODY)

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start the first request's time; close the longest waiting of too many connections."""
        super().connection_made(transport)
        self._opened = self.loop.time()
        self._limit(REQUEST_S)
        if len(self.connections) > MAX_CONNECTIONS:
            others = [one for one in self.connections if isinstance(one, BoundedProtocol)]
            waiting = [one for one in others if one.is_waiting and one is not self]
            if waiting:
                min(waiting, key=lambda one: one._opened).transport.abort()  # noqa: SLF001 - own class

    def data_received(self, data: bytes) -> None:
        """Start the response's time when the request is complete."""
        super().data_received(data)
        if not self.is_waiting:
            self._limit(RESPONSE_S)

    def on_response_complete(self) -> None:
        """Start the next request's time."""
        self._limit(REQUEST_S)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _limit(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self.transport.abort)
