# SPDX-License-Identifier: Apache-2.0
"""HTTP server of every process: slow clients are bounded, other machines need TLS."""

import socket
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import uvicorn
from fastapi import FastAPI, Response
from fastapi.responses import PlainTextResponse
from prometheus_client.openmetrics import exposition
from prometheus_client.registry import CollectorRegistry

from tcuq.errors import InputError
from tcuq_fleet.errors import FleetError
from tcuq_fleet.http_listener import Listener
from tcuq_fleet.http_protocol import BoundedProtocol

KEEP_ALIVE_S = 5
MAX_REQUESTS = 32  # that are worked on at once, beside health and metrics
MONITORING = ("/healthz", "/readyz", "/metrics")


def create_server(
    app: Any,  # noqa: ANN401 - ASGI
    host: str,
    port: int,
    certificate: str | None = None,
    key: str | None = None,
    *,
    max_requests: int = MAX_REQUESTS,
) -> "BoundedServer":
    """Create a server for an ASGI application."""
    check_listener(host, certificate, key)
    try:
        listener = Listener(host, port)
    except OSError as error:
        raise FleetError(f"{host}:{port}: {error.strerror}: choose another port") from None
    return BoundedServer(
        listener,
        uvicorn.Config(
            RequestLimit(app, max_requests),
            host=host,
            port=port,
            loop="tcuq_fleet.http_listener:BoundedLoop",
            ssl_certfile=certificate,
            ssl_keyfile=key,
            http=BoundedProtocol,
            timeout_keep_alive=KEEP_ALIVE_S,
            # X-Forwarded-For is not trusted: the client is the peer of the connection.
            proxy_headers=False,
            server_header=False,
            log_config=None,
            log_level="warning",
            access_log=False,
        ),
    )


class BoundedServer(uvicorn.Server):
    """A server that accepts a bounded number of connections."""

    def __init__(self, listener: Listener, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._listener = listener

    @property
    def refused(self) -> int:
        """The connections that were ended because there were too many."""
        return self._listener.refused

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until `should_exit` is set."""
        with self._listener:
            super().run([*(sockets or ()), self._listener])


def check_listener(host: str, certificate: str | None, key: str | None) -> None:
    """Refuse to listen beyond this machine without TLS."""
    if (certificate is None) != (key is None):
        raise InputError("an HTTP certificate and its key go together: one needs the other")
    if certificate is None and not is_loopback(host):
        raise InputError(
            f"host must be this machine alone (127.0.0.1) without TLS, got {host}:"
            " add --http-certificate and --http-key"
        )


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine alone."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class RequestLimit:
    """ASGI middleware: answers 503 to more requests at once, but never to health and metrics."""

    def __init__(self, app: Any, max_requests: int) -> None:  # noqa: ANN401 - ASGI
        self._app, self._max_requests = app, max_requests
        self._requests = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        """Handle one request."""
        if scope["type"] != "http" or scope["path"] in MONITORING:
            await self._app(scope, receive, send)
        elif self._requests >= self._max_requests:
            response = PlainTextResponse("too many requests at once\n", 503, {"retry-after": "5"})
            await response(scope, receive, send)
        else:
            self._requests += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._requests -= 1


def add_monitoring(
    app: FastAPI,
    registry: CollectorRegistry,
    alive: Callable[[], bool],
    ready: Callable[[], bool],
    note: Callable[[], str] = str,
) -> None:
    """Add `/healthz` (the process alone), `/readyz` (its servers) and `/metrics` to a FastAPI app.

    `note` is the text of `/readyz`, such as a server that is away without making it unready.
    They run in the event loop, so that slow requests in the thread pool never delay them.
    """

    @app.get("/healthz", summary="Liveness: the process works", responses={503: {}})
    async def healthz() -> Response:
        return Response(status_code=200 if alive() else 503)

    @app.get("/readyz", summary="Readiness: its servers answer", responses={503: {}})
    async def readyz() -> Response:
        return Response(note(), 200 if ready() else 503, media_type="text/plain")

    @app.get("/metrics", summary="Metrics for Prometheus, as OpenMetrics")
    async def openmetrics() -> Response:
        text = exposition.generate_latest(registry)  # type: ignore[no-untyped-call]
        return Response(text, media_type=exposition.CONTENT_TYPE_LATEST)
