# SPDX-License-Identifier: Apache-2.0
"""HTTP ingest: records from gateways that do not use MQTT.

Each request is one transaction. The response follows COMMIT and holds the bytes that an
acknowledgement over MQTT would hold.
"""

import hashlib
import hmac
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import FastAPI, Header, HTTPException, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from tcuq.errors import InputError
from tcuq.telemetry import SIGNED, Reason
from tcuq_fleet.errors import FleetError
from tcuq_fleet.http_server import add_monitoring
from tcuq_fleet.ingest.metrics import IngestMetrics
from tcuq_fleet.ingest.validation import ValidationResult, Validator
from tcuq_fleet.mqtt import Message
from tcuq_fleet.store.batch import Array
from tcuq_fleet.store.claims import OPEN, Claims
from tcuq_fleet.store.interface import open_store
from tcuq_fleet.version import __version__
from tcuq_fleet.wire import MAX_RECORDS, NAME, records_topic

MAX_BODY_BYTES = MAX_RECORDS * SIGNED.itemsize
MAX_PER_GATEWAY = 4  # requests at once
AWAY = "the database is away: send it again later"
OCTETS = "application/octet-stream"
NAME_PATTERN = f"^{NAME}$"
REQUEST_BODY = {
    "required": True,
    "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}},
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {OCTETS: {}}, "description": "Stored: an acknowledgement of each device."},
    400: {"description": "The body holds no record that may be stored."},
    401: {"description": "Not a gateway, or not its token."},
    413: {"description": f"More than {MAX_BODY_BYTES} bytes."},
    429: {"description": f"More than {MAX_PER_GATEWAY} requests of the gateway at once."},
    503: {"description": "The database is away; send it again later."},
}


class HttpIngest:
    """Authenticates gateways, validates their records and stores them, one request at a time."""

    def __init__(
        self,
        database: str | Sequence[str],
        validator: Validator | None = None,
        claims: Claims = OPEN,
    ) -> None:
        self._lock = threading.Lock()
        self._store = open_store(database, claims)
        self._validator = validator or Validator()

    def is_authenticated(self, gateway: str, token: str) -> bool:
        """Return whether the token is the gateway's, in a time that does not reveal its name."""
        with self._lock:
            known = self._store.gateway(gateway)
        digest = known.token_sha256 if known else None
        right = hmac.compare_digest(hashlib.sha256(token.encode()).digest(), digest or bytes(32))
        return right and digest is not None

    def put(self, site: str, gateway: str, body: bytes) -> tuple[ValidationResult, Array]:
        """Store a gateway's records; return the validation's result and the acknowledgements."""
        message = Message(records_topic(site, gateway).encode(), body, 0)
        with self._lock:
            result = self._validator.validate([message])
            batch, acks = self._store.put(result.parts, result.dead_letters)
        result.count(batch.reasons[batch.rows])
        stored = acks[batch.reasons == Reason.FINE]
        return result, result.sign(result.parts[0], stored) if result.parts else stored


def create_health_app(metrics: IngestMetrics) -> FastAPI:
    """Create the application of the operators' listener: `/healthz`, `/readyz`, `/metrics`."""
    app = FastAPI(title="tcuq ingest", version=__version__, docs_url=None, redoc_url=None)
    add_monitoring(
        app, metrics.registry, lambda: metrics.alive, lambda: metrics.ready, lambda: metrics.note
    )
    return app


def create_app(ingest: HttpIngest, metrics: IngestMetrics) -> FastAPI:
    """Create the application of the gateways' listener: `POST /v1/records`."""
    app = FastAPI(title="tcuq records", version=__version__, docs_url=None, redoc_url=None)
    requests = GatewayRequests(metrics)

    @app.post(
        "/v1/records",
        summary="Store records of many devices",
        response_class=Response,
        responses=RESPONSES,
        openapi_extra={"requestBody": REQUEST_BODY},
    )
    async def put_records(
        request: Request,
        site: Annotated[str, Query(pattern=NAME_PATTERN)],
        gateway: Annotated[str, Query(pattern=NAME_PATTERN)],
        authorization: Annotated[str, Header(max_length=512)] = "",
    ) -> Response:
        token = authorization.removeprefix("Bearer ")
        try:
            authenticated = await run_in_threadpool(ingest.is_authenticated, gateway, token)
        except FleetError:
            raise HTTPException(503, AWAY) from None
        if not authenticated:
            raise HTTPException(401, "not a gateway, or not its token")
        with requests.of(gateway):
            body = await _read_body(request)
            if body is None:
                raise HTTPException(413, f"at most {MAX_BODY_BYTES} bytes, {MAX_RECORDS} records")
            try:
                result, acks = await run_in_threadpool(ingest.put, site, gateway, body)
            except InputError as error:
                raise HTTPException(400, str(error)) from None
            except FleetError:
                raise HTTPException(503, AWAY) from None
        refused = metrics.count(result, len(acks))
        if refused and not len(acks):
            raise HTTPException(400, {"refused": refused})
        summary = ", ".join(f"{reason}={count}" for reason, count in refused.items())
        return Response(acks.tobytes(), media_type=OCTETS, headers={"x-refused": summary})

    return app


class GatewayRequests:
    """Limits the requests of one gateway at once, so that its slow bodies delay no other's."""

    def __init__(self, metrics: IngestMetrics) -> None:
        self._open: Counter[str] = Counter()
        self._refused = metrics.requests_refused

    @contextmanager
    def of(self, gateway: str) -> Iterator[None]:
        """Count a request of an authenticated gateway for the block, or answer 429."""
        if self._open[gateway] >= MAX_PER_GATEWAY:
            self._refused.inc()
            raise HTTPException(429, f"at most {MAX_PER_GATEWAY} requests of a gateway at once")
        self._open[gateway] += 1
        try:
            yield
        finally:
            self._open[gateway] -= 1
            self._open += Counter()  # forget gateways without a request


async def _read_body(request: Request) -> bytes | None:
    """Read the body; return None as soon as it is too long."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            return None
        parts.append(part)
    return b"".join(parts)
