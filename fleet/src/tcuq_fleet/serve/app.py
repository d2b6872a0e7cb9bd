# SPDX-License-Identifier: Apache-2.0
"""The dashboard's application: pages, a JSON API, metrics, liveness and readiness."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import LiteralString

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
from tcuq_fleet.http_server import is_loopback
from tcuq_fleet.serve import actions, api, pages
from tcuq_fleet.serve.access_control import AccessControl, networks
from tcuq_fleet.serve.database import Reader
from tcuq_fleet.serve.metrics import FleetCollector, PageTimer, page_timer, query_timer
from tcuq_fleet.serve.viewer import ProxyHeaders
from tcuq_fleet.store.connection import DatabaseUnavailableError
from tcuq_fleet.store.migrate import migrations
from tcuq_fleet.version import __version__

LOOPBACK = ("127.0.0.1", "::1")
NO_PROXY = ProxyHeaders()
NO_TABLES = "The database holds no fleet yet: run  tcuq fleet migrate, which creates its tables."
AWAY = "The database does not answer. This page tries again by itself."
SLOW = "The database took too long to answer. Look at fewer hours, or at a smaller group."


def create_app(
    database: str | Sequence[str],
    headers: ProxyHeaders = NO_PROXY,
    trusted: Sequence[str] = LOOPBACK,
) -> FastAPI:
    """Create the application; pages only read, acts write to the registry and to alarms.

    `trusted` are addresses or networks of the proxies whose headers are believed.
    """
    registry = CollectorRegistry()
    timer = query_timer(registry)
    reader = Reader(database, lambda name, seconds: timer.labels(name).observe(seconds))
    registry.register(FleetCollector(reader))

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
        docs_url=None,  # its viewer loads foreign scripts; the description is /openapi.json
        redoc_url=None,
    )
    app.state.reader, app.state.registry = reader, registry
    app.state.databases = [database] if isinstance(database, str) else database
    app.include_router(pages.router)
    app.include_router(actions.router)
    app.include_router(actions.api_router)
    app.include_router(api.router)
    app.mount("/static", StaticFiles(packages=list(pages.STATIC)), "static")
    app.add_middleware(PageTimer, timer=page_timer(registry))
    app.add_middleware(AccessControl, headers=headers, trusted=networks(trusted))
    _add_monitoring(app)
    return app


def monitoring_app(dashboard: FastAPI) -> FastAPI:
    """Create the application of a port for scrapers and probes, which shows no page and no user."""
    app = FastAPI(title="tcuq fleet", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.reader, app.state.registry = dashboard.state.reader, dashboard.state.registry
    _add_monitoring(app)
    return app


def _add_monitoring(app: FastAPI) -> None:
    """Add health and metrics, and explanations of errors."""
    app.add_api_route("/healthz", healthz, include_in_schema=False)
    app.add_api_route("/readyz", readyz, include_in_schema=False)
    app.add_api_route("/metrics", metrics, include_in_schema=False)
    for kind in (
        HTTPException, RequestValidationError, Error, PoolTimeout, TooManyRequests,
        DatabaseUnavailableError,
    ):  # fmt: skip
        app.add_exception_handler(kind, explain)


def check_host(host: str, user_header: str | None) -> None:
    """Refuse to listen beyond this machine without a proxy that names users."""
    if user_header is None and not is_loopback(host):
        raise InputError(
            f"host must be this machine alone (127.0.0.1) unless a proxy names users, got {host}:"
            " add --user-header, and --trusted-proxy with the proxy's address"
        )


def explain(request: Request, error: Exception) -> Response:
    """Return an error as a page or as JSON."""
    status, text = _explanation(error)
    if request.url.path.startswith("/api/"):
        response: Response = JSONResponse({"detail": text}, status)
    else:
        response = pages.error(request, status, text)
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)
    return response


def _explanation(error: Exception) -> tuple[int, str]:
    if isinstance(error, HTTPException):
        unknown = error.status_code == HTTPStatus.NOT_FOUND and error.detail == "Not Found"
        return error.status_code, "There is no such page." if unknown else str(error.detail)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return 422, f"{'.'.join(str(part) for part in first['loc'][1:])}: {first['msg']}"
    if isinstance(error, DatabaseUnavailableError):
        return 503, str(error)
    if isinstance(error, errors.UndefinedTable):
        return 503, NO_TABLES
    return 503, SLOW if isinstance(error, errors.QueryCanceled) else AWAY


async def healthz() -> Response:
    """Liveness: the process answers, whatever its threads wait for."""
    return PlainTextResponse("alive\n")


def readyz(request: Request) -> Response:
    """Readiness: the database answers and its schema is current."""
    newest = migrations()[-1][0]
    try:
        with request.app.state.reader.session() as session:
            query: LiteralString = "SELECT coalesce(max(version), 0) FROM schema_version"
            version = min(version for (version,) in session.of_all("version", query, {}))
            away = session.away
    except (Error, PoolTimeout, TooManyRequests):
        return PlainTextResponse("the database does not answer\n", 503)
    if version < newest:
        return PlainTextResponse(f"the database's schema is older than {newest}\n", 503)
    return PlainTextResponse("ready\n" + "".join(f"database {at} is away\n" for at in away))


def metrics(request: Request) -> Response:
    """Return the metrics as OpenMetrics, or in Prometheus' text format if requested."""
    encode, kind = choose_encoder(request.headers.get("accept", ""))
    return Response(
        encode(request.app.state.registry), media_type=None, headers={"content-type": kind}
    )
