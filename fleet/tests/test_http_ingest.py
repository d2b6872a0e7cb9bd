# SPDX-License-Identifier: Apache-2.0
"""HTTP ingest: gateways' tokens, bounded bodies, liveness, readiness and metrics."""

import hashlib
import secrets
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

from fleet.tests.fixtures.load import stored_part
from fleet.tests.fixtures.records import add_gateway, records_of
from fleet.tests.fixtures.sender import wait_for
from tcuq_fleet.http_server import create_server
from tcuq_fleet.ingest.http_ingest import MAX_BODY_BYTES, HttpIngest, create_app
from tcuq_fleet.ingest.metrics import IngestMetrics
from tcuq_fleet.servers import Postgres, free_port
from tcuq_fleet.store.store import Store
from tcuq_fleet.wire import ACK

TOKEN = secrets.token_hex()
QUERY = {"site": "berlin", "gateway": "gate-1"}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]
HEADERS = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def url(database: str) -> Iterator[str]:
    """Start HTTP ingest; return its URL."""
    port = free_port()
    add_gateway(database, hashlib.sha256(TOKEN.encode()).digest())
    app = create_app(HttpIngest(database), IngestMetrics())
    server = create_server(app, "127.0.0.1", port)
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_for(lambda: server.started)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def post(url: str, body: bytes, headers: dict[str, str] = HEADERS) -> httpx.Response:
    """Send a request with this body."""
    return httpx.post(f"{url}/v1/records", params=QUERY, content=body, headers=headers)


def test_a_batch_is_answered_after_it_is_stored(url: str, store: Store) -> None:
    """A batch is stored, and the response holds the bytes of an acknowledgement."""
    records = records_of(range(500))
    response = post(url, records.tobytes())
    assert response.status_code == 200
    acks = np.frombuffer(response.content, ACK)
    assert set(acks["device"].tolist()) == set(stored_part(records)["device"].tolist())
    row = store.connection.execute("SELECT sum(steps) FROM cohorts").fetchone()
    assert row == (50_000,)


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}])
def test_a_request_without_the_token_stores_nothing(
    url: str, store: Store, headers: dict[str, str]
) -> None:
    """A missing or wrong token gives 401, and no record is stored."""
    assert post(url, records_of([1]).tobytes(), headers).status_code == 401
    assert store.connection.execute("SELECT count(*) FROM devices").fetchone() == (0,)


def test_refused_records_are_reported_by_reason(url: str) -> None:
    """A partly valid batch names its refusals in a header; an invalid one gives 400."""
    good, bad = records_of([1]).tobytes(), bytearray(records_of([2]).tobytes())
    bad[40] ^= 1
    partly = post(url, good + bytes(bad))
    assert (partly.status_code, partly.headers["x-refused"]) == (200, "checksum=1")
    alone = post(url, bytes(bad))
    assert (alone.status_code, alone.json()) == (400, {"detail": {"refused": {"checksum": 1}}})


def test_a_body_that_is_too_large_is_refused(url: str) -> None:
    """A large body gives 413, with or without a declared length."""

    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield bytes(4096)

    assert post(url, bytes(MAX_BODY_BYTES + 1)).status_code == 413
    streamed = httpx.post(f"{url}/v1/records", params=QUERY, content=endless(), headers=HEADERS)
    assert streamed.status_code == 413


def test_a_database_that_is_away_gives_503(url: str, postgres: Postgres) -> None:
    """The gateway gets 503 while the database is away, and its retry is stored."""
    postgres.crash()
    assert post(url, records_of([1]).tobytes()).status_code == 503
    postgres.start()
    assert post(url, records_of([1]).tobytes()).status_code == 200


def test_metrics_are_openmetrics(url: str) -> None:
    """Every reason has a counter from the start; a worker without servers is alive, not ready."""
    text = httpx.get(f"{url}/metrics").text
    assert 'tcuq_ingest_refused_total{reason="checksum"} 0.0' in text
    assert text.endswith("# EOF\n")
    assert httpx.get(f"{url}/healthz").status_code == 200
    assert httpx.get(f"{url}/readyz").status_code == 503


def test_requests_that_openapi_allows_cause_no_server_error(url: str) -> None:
    """Requests generated from the API's description get only documented responses."""
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    operation = schema["/v1/records"]["POST"]

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def send(case: Any) -> None:
        case.call_and_validate(headers=HEADERS, checks=CHECKS)

    send()
