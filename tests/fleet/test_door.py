# SPDX-License-Identifier: Apache-2.0
"""The HTTP door: gateways with their token, bounded bodies, and health."""

import hashlib
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance
from sending import records_of, wait_for

from tcuq.fleet.ingest.door import MAX_BODY, Entrance, make_app, served
from tcuq.fleet.ingest.gauges import Gauges
from tcuq.fleet.servers import Postgres, free_port
from tcuq.fleet.store.tables import Store
from tcuq.fleet.wire import ACK
from tools.measurements.fleet_load import stored_part

TOKEN = secrets.token_hex()
TOKENS = {"gate-1": hashlib.sha256(TOKEN.encode()).hexdigest()}
PLACE = {"site": "berlin", "gateway": "gate-1"}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]
PERMIT = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def door(database: str) -> Iterator[str]:
    """A door that is open, by its address."""
    port = free_port()
    server = served(make_app(Entrance(database, TOKENS), Gauges()), "127.0.0.1", port)
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_for(lambda: server.started)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def sent(door: str, body: bytes, headers: dict[str, str] = PERMIT) -> httpx.Response:
    """A request with this body."""
    return httpx.post(f"{door}/v1/records", params=PLACE, content=body, headers=headers)


def test_a_batch_is_answered_after_it_is_stored(door: str, store: Store) -> None:
    """The answer's bytes are those of MQTT."""
    records = records_of(range(500))
    answer = sent(door, records.tobytes())
    assert answer.status_code == 200
    told = np.frombuffer(answer.content, ACK)
    assert set(told["device"].tolist()) == set(stored_part(records)["device"].tolist())
    row = store.connection.execute("SELECT sum(steps) FROM cohorts").fetchone()
    assert row == (50_000,)


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}])
def test_without_the_token_nothing_is_read(
    door: str, store: Store, headers: dict[str, str]
) -> None:
    """And nothing stored."""
    assert sent(door, records_of([1]).tobytes(), headers).status_code == 401
    assert store.connection.execute("SELECT count(*) FROM devices").fetchone() == (0,)


def test_what_is_no_record_is_said_by_reason(door: str) -> None:
    """Some of a batch: those are named beside the answer. All of it: 400."""
    good, bad = records_of([1]).tobytes(), bytearray(records_of([2]).tobytes())
    bad[40] ^= 1
    mixed = sent(door, good + bytes(bad))
    assert (mixed.status_code, mixed.headers["x-refused"]) == (200, "checksum=1")
    alone = sent(door, bytes(bad))
    assert (alone.status_code, alone.json()) == (400, {"detail": {"refused": {"checksum": 1}}})


def test_a_body_that_is_too_large_is_cut_off(door: str) -> None:
    """Whatever its length says."""

    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield bytes(4096)

    assert sent(door, bytes(MAX_BODY + 1)).status_code == 413
    streamed = httpx.post(f"{door}/v1/records", params=PLACE, content=endless(), headers=PERMIT)
    assert streamed.status_code == 413


def test_slow_clients_do_not_keep_others_out(door: str) -> None:
    """Fifty that send a byte and wait; a quick one is served at once."""
    host, port = door.removeprefix("http://").split(":")
    slow = [socket.create_connection((host, int(port))) for _ in range(50)]
    for one in slow:
        one.sendall(b"POST /v1/records?site=a&gateway=gate-1 HTTP/1.1\r\nHost: x\r\n")
    began = time.monotonic()
    assert sent(door, records_of([1]).tobytes()).status_code == 200
    assert time.monotonic() - began < 5
    for one in slow:
        one.close()


def test_a_database_that_is_away_is_no_error_of_the_gateway(door: str, postgres: Postgres) -> None:
    """503: send it again later; and later it is stored."""
    postgres.stop("immediate")
    assert sent(door, records_of([1]).tobytes()).status_code == 503
    postgres.start()
    assert sent(door, records_of([1]).tobytes()).status_code == 200


def test_figures_are_openmetrics(door: str) -> None:
    """Reasons are there before they are needed; a worker without servers is alive, not ready."""
    text = httpx.get(f"{door}/metrics").text
    assert 'tcuq_ingest_refused_total{reason="checksum"} 0.0' in text
    assert text.endswith("# EOF\n")
    assert httpx.get(f"{door}/healthz").status_code == 200
    assert httpx.get(f"{door}/readyz").status_code == 503


def test_nothing_that_the_description_allows_breaks_the_door(door: str) -> None:
    """Requests made up from the API's own description: no server error, no undocumented status."""
    schema = schemathesis.openapi.from_url(f"{door}/openapi.json")
    operation = schema["/v1/records"]["POST"]

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def try_it(case: Any) -> None:
        case.call_and_validate(headers=PERMIT, checks=CHECKS)

    try_it()
