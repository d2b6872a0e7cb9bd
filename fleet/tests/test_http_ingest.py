# SPDX-License-Identifier: Apache-2.0
"""HTTP ingest: gateways' tokens, bounded bodies, liveness, readiness and metrics."""

import hashlib
import secrets
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psycopg
import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

from fleet.tests.fixtures.attacks.certificate_authority import CertificateAuthority
from fleet.tests.fixtures.load import stored_part
from fleet.tests.fixtures.records import add_gateway, records_of
from fleet.tests.fixtures.sender import wait_for
from tcuq_fleet.errors import FleetError
from tcuq_fleet.http_listener import HANDSHAKE_S, MAX_OPEN, MAX_PER_ADDRESS
from tcuq_fleet.http_server import create_server
from tcuq_fleet.ingest.http_ingest import (
    MAX_BODY_BYTES,
    MAX_PER_GATEWAY,
    HttpIngest,
    create_app,
    create_health_app,
)
from tcuq_fleet.ingest.metrics import IngestMetrics
from tcuq_fleet.servers import Certificates, Postgres, free_port
from tcuq_fleet.store.registry import Registry
from tcuq_fleet.store.store import Store
from tcuq_fleet.wire import ACK

TOKEN = secrets.token_hex()
DIGEST = hashlib.sha256(TOKEN.encode()).digest()
QUERY = {"site": "berlin", "gateway": "gate-1"}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]
HEADERS = {"authorization": f"Bearer {TOKEN}"}


@contextmanager
def serving(
    app: FastAPI, certificates: Certificates | None = None, max_requests: int = MAX_OPEN
) -> Iterator[str]:
    """Serve an application on a free port of this machine; return its URL."""
    port = free_port()
    pem = (str(certificates.certificate), str(certificates.key)) if certificates else ()
    server = create_server(app, "127.0.0.1", port, *pem, max_requests=max_requests)
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_for(lambda: server.started)
    yield f"http{'s' * bool(pem)}://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def url(database: str) -> Iterator[str]:
    """Start HTTP ingest; return its URL."""
    add_gateway(database, DIGEST)
    with serving(create_app(HttpIngest(database), IngestMetrics())) as address:
        yield address


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


@pytest.fixture
def health_url() -> Iterator[str]:
    """Start a worker's server for health and metrics; return its URL."""
    with serving(create_health_app(IngestMetrics())) as address:
        yield address


def test_metrics_are_openmetrics(health_url: str) -> None:
    """Every reason has a counter from the start; a worker without servers is alive, not ready."""
    url = health_url
    text = httpx.get(f"{url}/metrics").text
    assert 'tcuq_ingest_refused_total{reason="checksum"} 0.0' in text
    assert text.endswith("# EOF\n")
    assert httpx.get(f"{url}/healthz").status_code == 200
    assert httpx.get(f"{url}/readyz").status_code == 503


def test_a_worker_that_stored_a_late_batch_is_ready_and_lags_no_more() -> None:
    """What waits makes a worker late; what is stored does not, however long it waited."""
    metrics = IngestMetrics()
    metrics.broker.set(1)
    metrics.database.set(1)
    late = time.monotonic() - 90
    metrics.beat(late)
    assert (metrics.ready, round(metrics.lag_s)) == (False, 90)
    metrics.stored(late, 1)
    assert (metrics.ready, metrics.lag_s) == (True, 0.0)


def test_requests_that_openapi_allows_cause_no_server_error(url: str) -> None:
    """Requests generated from the API's description get only documented responses."""
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    operation = schema["/v1/records"]["POST"]

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def send(case: Any) -> None:
        case.call_and_validate(headers=HEADERS, checks=CHECKS)

    send()


def slow_request(stack: ExitStack, url: str, source: str = "127.0.0.1") -> socket.socket:
    """Send the head of a request and a part of its body, from an address of this machine."""
    port = int(url.rsplit(":", 1)[1])
    peer = stack.enter_context(
        socket.create_connection(("127.0.0.1", port), source_address=(source, 0))
    )
    peer.sendall(
        b"POST /v1/records?site=berlin&gateway=gate-1 HTTP/1.1\r\nhost: ingest\r\n"
        b"authorization: Bearer " + TOKEN.encode() + b"\r\ncontent-length: 5000\r\n\r\n123"
    )
    return peer


def test_one_gateways_slow_bodies_do_not_delay_others(url: str, database: str) -> None:
    """Of 40 slow bodies of a gateway 4 wait and 36 are refused; another gateway's is stored."""
    with psycopg.connect(database, autocommit=True) as connection:
        Registry(connection).add_gateway("gate-2", ["rome"], token_sha256=DIGEST)
    with ExitStack() as stack:
        peers = [slow_request(stack, url) for _ in range(40)]
        refused: list[bytes] = []
        wait_for(lambda: len(refused.__iadd__(answers(peers))) == 40 - MAX_PER_GATEWAY)
        assert all(b" 429 " in answer for answer in refused)
        other = {"site": "rome", "gateway": "gate-2"}
        body = records_of([1]).tobytes()
        response = httpx.post(f"{url}/v1/records", params=other, content=body, headers=HEADERS)
        assert response.status_code == 200
    wait_for(lambda: post(url, records_of([2]).tobytes()).status_code == 200)


def answers(peers: list[socket.socket]) -> list[bytes]:
    """Return what arrived at connections, and leave these out from now on."""
    ready, _, _ = select.select(peers, [], [], 0)
    for peer in ready:
        peers.remove(peer)
    return [peer.recv(1000) for peer in ready]


def test_connections_without_a_handshake_are_bounded_in_number_and_time(tmp_path: Path) -> None:
    """An address gets its share of connections, for some seconds; others are served meanwhile."""
    authority = CertificateAuthority(tmp_path / "ca")
    with (
        serving(create_health_app(IngestMetrics()), authority.issue("127.0.0.1")) as url,
        ExitStack() as stack,
    ):
        port = int(url.rsplit(":", 1)[1])
        peers = []
        for number in range(400):
            source = (f"127.0.0.{2 + number % 2}", 0)
            peer = socket.create_connection(("127.0.0.1", port), source_address=source)
            peers.append(stack.enter_context(peer))
        began = time.monotonic()
        context = ssl.create_default_context(cafile=str(authority.ca))
        assert httpx.get(f"{url}/healthz", verify=context).status_code == 200
        assert time.monotonic() - began < 1
        answers(peers)  # of those that were closed at once
        assert len(peers) <= 2 * MAX_PER_ADDRESS
        wait_for(lambda: answers(peers) is not None and not peers, HANDSHAKE_S + 5)


def test_of_too_many_connections_the_address_with_the_most_loses_one(url: str) -> None:
    """Clients of many addresses cannot keep a client of another address out."""
    with ExitStack() as stack:
        port = int(url.rsplit(":", 1)[1])
        for number in range(MAX_OPEN + 20):
            source = (f"127.0.1.{1 + number // (MAX_PER_ADDRESS - 2)}", 0)
            peer = socket.create_connection(("127.0.0.1", port), source_address=source)
            stack.enter_context(peer)
        assert post(url, records_of([1]).tobytes()).status_code == 200


def test_a_port_in_use_is_an_error_of_one_line(url: str) -> None:
    """A process that cannot listen says so when it starts."""
    port = int(url.rsplit(":", 1)[1])
    with pytest.raises(FleetError, match=f"127.0.0.1:{port}: Address already in use"):
        create_server(FastAPI(), "127.0.0.1", port)
