# SPDX-License-Identifier: Apache-2.0
"""The dashboard as an application: pages, a small JSON interface, metrics, health."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from psycopg import Error, errors
from psycopg_pool import PoolTimeout, TooManyRequests
from starlette.exceptions import HTTPException

from tcuq.errors import InputError
from tcuq.fleet.serve import api, pages
from tcuq.fleet.serve.database import Reader
from tcuq.fleet.serve.guard import Guard, networks
from tcuq.fleet.serve.metrics import Fleet, Timings
from tcuq.fleet.store.migrate import migrations
from tcuq.version import __version__

LOOPBACK = ("127.0.0.1", "::1")
NO_TABLES = "The database holds no fleet yet: start a worker, which makes its tables."
AWAY = "The database does not answer. This page tries again by itself."
SLOW = "The database took too long to answer. Look at fewer hours, or at a smaller group."


@dataclass(frozen=True, slots=True)
class _Version:
    version: int


def create_app(
    database: str, user_header: str | None = None, trusted: Sequence[str] = LOOPBACK
) -> FastAPI:
    """The application.

    Parameters
    ----------
    database
        As libpq names it; read only.
    user_header
        Where a reverse proxy says who asks; None: for this machine alone.
    trusted
        Addresses or networks of proxies whose word on that counts.
    """
    registry = CollectorRegistry()
    reader = Reader(database, Timings(registry).observed)
    registry.register(Fleet(reader))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        reader.open()
        pages.templates()
        yield
        reader.close()

    app = FastAPI(
        title="tcuq fleet",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # the viewers come from elsewhere; the description is /openapi.json
        redoc_url=None,
    )
    app.state.reader, app.state.registry = reader, registry
    app.include_router(pages.router)
    app.include_router(api.router)
    app.mount("/static", StaticFiles(packages=list(pages.STATIC)), "static")
    app.add_middleware(Guard, user_header=user_header, trusted=networks(trusted))
    app.add_api_route("/healthz", healthz, include_in_schema=False)
    app.add_api_route("/readyz", readyz, include_in_schema=False)
    app.add_api_route("/metrics", metrics, include_in_schema=False)
    for kind in (HTTPException, RequestValidationError, Error, PoolTimeout, TooManyRequests):
        app.add_exception_handler(kind, explained)
    return app


def serve(
    database: str,
    host: str = "127.0.0.1",
    port: int = 8050,
    user_header: str | None = None,
    trusted: Sequence[str] = LOOPBACK,
) -> None:
    """Serve until interrupted; other machines only see it through a proxy that signs users in."""
    import uvicorn

    check_host(host, user_header)
    app = create_app(database, user_header, trusted)
    # A forwarded address would be anyone's word: who asks is who is connected.
    uvicorn.run(
        app, host=host, port=port, log_level="warning", proxy_headers=False, server_header=False
    )


def check_host(host: str, user_header: str | None) -> None:
    """Nobody but this machine without a proxy that says who asks."""
    if user_header is None and host != "localhost" and not _is_loopback(host):
        raise InputError(
            f"host must be this machine alone (127.0.0.1) unless a proxy names users, got {host}:"
            " add --user-header, and --trusted-proxy with the proxy's address"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def explained(request: Request, error: Exception) -> Response:
    """What went wrong, as a page or as JSON."""
    status, text = _explanation(error)
    if request.url.path.startswith("/api/"):
        answer: Response = JSONResponse({"detail": text}, status)
    else:
        answer = pages.error(request, status, text)
    if isinstance(error, HTTPException) and error.headers:
        answer.headers.update(error.headers)
    return answer


def _explanation(error: Exception) -> tuple[int, str]:
    if isinstance(error, HTTPException):
        unknown = error.status_code == HTTPStatus.NOT_FOUND and error.detail == "Not Found"
        return error.status_code, "There is no such page." if unknown else str(error.detail)
    if isinstance(error, RequestValidationError):
        wrong = error.errors()[0]
        return 422, f"{'.'.join(str(part) for part in wrong['loc'][1:])}: {wrong['msg']}"
    if isinstance(error, errors.UndefinedTable):
        return 503, NO_TABLES
    return 503, SLOW if isinstance(error, errors.QueryCanceled) else AWAY


def healthz() -> Response:
    """Whether the process answers."""
    return PlainTextResponse("alive\n")


def readyz(request: Request) -> Response:
    """Whether a page would be answered: the database is there and has the tables it reads."""
    newest = migrations()[-1][0]
    try:
        with request.app.state.reader.session() as session:
            found = session.row(
                _Version, "version", "SELECT max(version) AS version FROM schema_version", {}
            )
    except (Error, PoolTimeout, TooManyRequests):
        return PlainTextResponse("the database does not answer\n", 503)
    if found is None or found.version is None or found.version < newest:
        return PlainTextResponse(f"the database's schema is older than {newest}\n", 503)
    return PlainTextResponse("ready\n")


def metrics(request: Request) -> Response:
    """The fleet's figures as OpenMetrics, or as Prometheus' older text if that is asked for."""
    encode, kind = choose_encoder(request.headers.get("accept", ""))
    return Response(
        encode(request.app.state.registry), media_type=None, headers={"content-type": kind}
    )
