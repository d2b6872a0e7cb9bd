# SPDX-License-Identifier: Apache-2.0
"""The worker's HTTP door: records of gateways that do not speak MQTT, health, and figures.

A request is a batch of its own. It is answered after COMMIT, with the bytes that MQTT would carry.
"""

import hashlib
import hmac
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from tcuq.errors import FleetError, InputError, MissingExtraError
from tcuq.fleet.ingest.gauges import Gauges
from tcuq.fleet.ingest.intake import Intake, Taken
from tcuq.fleet.mqtt import Message
from tcuq.fleet.store.tables import StandingStore
from tcuq.fleet.wire import ACK, MAX_RECORDS, NAME, records_topic
from tcuq.telemetry import SIGNED, Keys
from tcuq.version import __version__

if TYPE_CHECKING:
    from fastapi import FastAPI
    from uvicorn import Server

MAX_CONNECTIONS = 200
MAX_BODY = MAX_RECORDS * SIGNED.itemsize
OCTETS = "application/octet-stream"
NAMED = f"^{NAME}$"
BODY = {
    "required": True,
    "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}},
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {OCTETS: {}}, "description": "Stored: device, boot, sequence of each."},
    400: {"description": "Nothing of it is a record that may be stored."},
    401: {"description": "Not a gateway, or not its token."},
    413: {"description": f"More than {MAX_BODY} bytes."},
    503: {"description": "The database is away; send it again later."},
}


class Entrance:
    """The worker's checks and store, for one request at a time.

    Parameters
    ----------
    database
        As `Store` takes it.
    tokens
        Gateway's name to the SHA-256 of its token, in hexadecimal digits.
    """

    def __init__(
        self,
        database: str,
        tokens: Mapping[str, str],
        *,
        keys: Keys | None = None,
        quota: int = 120,
    ) -> None:
        self._tokens = dict(tokens)
        self._lock = threading.Lock()
        self._store = StandingStore(database)
        self._intake = Intake(self._tokens, keys, quota)

    def permits(self, gateway: str, token: str) -> bool:
        """Whether this token is the gateway's; takes as long if there is no such gateway."""
        right = self._tokens.get(gateway, "0" * 64)
        return hmac.compare_digest(hashlib.sha256(token.encode()).hexdigest(), right)

    def put(self, site: str, gateway: str, body: bytes) -> tuple[Taken, bytes]:
        """Store what a gateway sends; what it came to, and the answer's bytes."""
        import psycopg

        message = Message(records_topic(site, gateway).encode(), body, 0)
        with self._lock:
            try:
                taken = self._intake.take([message])
                _, told = self._store.put(taken.parts, taken.letters)
            except psycopg.OperationalError as error:
                self._store.close()
                raise FleetError(f"the database: {error}") from None
        return taken, told.tobytes()


def make_app(entrance: Entrance, gauges: Gauges) -> "FastAPI":
    """The door as an application: `POST /v1/records`, `/healthz`, `/readyz`, `/metrics`."""
    try:
        from fastapi import FastAPI, Header, HTTPException, Query, Request, Response
    except ImportError:
        raise MissingExtraError("fastapi", "fleet") from None
    from starlette.concurrency import run_in_threadpool

    app = FastAPI(title="tcuq ingest", version=__version__, docs_url=None, redoc_url=None)

    @app.post(
        "/v1/records",
        summary="Store records of many devices",
        response_class=Response,
        responses=RESPONSES,
        openapi_extra={"requestBody": BODY},
    )
    async def put_records(
        request: Request,
        site: Annotated[str, Query(pattern=NAMED)],
        gateway: Annotated[str, Query(pattern=NAMED)],
        authorization: Annotated[str, Header(max_length=512)] = "",
    ) -> Response:
        if not entrance.permits(gateway, authorization.removeprefix("Bearer ")):
            raise HTTPException(401, "not a gateway, or not its token")
        body = await _bounded(request)
        if body is None:
            raise HTTPException(413, f"at most {MAX_BODY} bytes, {MAX_RECORDS} records")
        try:
            taken, told = await run_in_threadpool(entrance.put, site, gateway, body)
        except InputError as error:
            raise HTTPException(400, str(error)) from None
        except FleetError:
            raise HTTPException(503, "the database is away: send it again later") from None
        refused = gauges.count(taken, len(told) // ACK.itemsize)
        if refused and not told:
            raise HTTPException(400, {"refused": refused})
        said = ", ".join(f"{reason}={count}" for reason, count in refused.items())
        return Response(told, media_type=OCTETS, headers={"x-refused": said})

    _add_figures(app, gauges)
    return app


def served(
    app: "FastAPI", host: str, port: int, certificate: str | None = None, key: str | None = None
) -> "Server":
    """A server for the door; a slow client holds one connection, and not for long."""
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            ssl_certfile=certificate,
            ssl_keyfile=key,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=5,
            log_level="warning",
            access_log=False,
        )
    )


def _add_figures(app: "FastAPI", gauges: Gauges) -> None:
    from fastapi import Response
    from prometheus_client.openmetrics import exposition

    @app.get("/healthz", summary="The worker's loop turns", responses={503: {}})
    def health() -> Response:
        return Response(status_code=200 if gauges.alive else 503)

    @app.get("/readyz", summary="What comes now would be stored", responses={503: {}})
    def ready() -> Response:
        return Response(status_code=200 if gauges.ready else 503)

    @app.get("/metrics", summary="Figures for Prometheus, as OpenMetrics")
    def metrics() -> Response:
        figures = exposition.generate_latest(gauges.registry)  # type: ignore[no-untyped-call]
        return Response(figures, media_type=exposition.CONTENT_TYPE_LATEST)


async def _bounded(request: Any) -> bytes | None:  # noqa: ANN401 - FastAPI's, an extra
    """The body, or None as soon as it is too long."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            return None
        parts.append(part)
    return b"".join(parts)
