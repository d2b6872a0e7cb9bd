# SPDX-License-Identifier: Apache-2.0
"""A worker and the judge while their servers hang, vanish, refuse or are read-only."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import httpx
import psycopg
import pytest

from fleet.tests.fixtures.sender import Sender, records_of, wait_for
from tcuq.cli import main
from tcuq_fleet import http_protocol
from tcuq_fleet.http_server import create_server
from tcuq_fleet.ingest.http_ingest import HttpIngest, create_app
from tcuq_fleet.ingest.worker import Worker
from tcuq_fleet.mqtt import BrokerAddress, MqttClient
from tcuq_fleet.servers import Broker, Postgres, free_port
from tcuq_fleet.store import reconnecting
from tcuq_fleet.store.connection import Use
from tcuq_fleet.wire import SHARED_FILTERS


@contextmanager
def running(database: str, broker_port: int) -> Iterator[tuple[Worker, str]]:
    """Run a worker with its HTTP server; yield it and the server's URL."""
    worker = Worker(
        database, lambda: MqttClient(BrokerAddress("127.0.0.1", broker_port), SHARED_FILTERS)
    )
    port = free_port()
    server = create_server(create_app(HttpIngest(database), worker.metrics), "127.0.0.1", port)
    threads = [threading.Thread(target=worker.run), threading.Thread(target=server.run)]
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: server.started)
        yield worker, f"http://127.0.0.1:{port}"
    finally:
        worker.stopping.set()
        server.should_exit = True
        for thread in threads:
            thread.join()


def status(url: str) -> int:
    """Return the status of a GET request."""
    return httpx.get(url, timeout=5).status_code


def lag_s(url: str) -> float:
    """Return the lag that a worker's metrics state."""
    (line,) = [
        line
        for line in httpx.get(f"{url}/metrics", timeout=5).text.splitlines()
        if line.startswith("tcuq_ingest_lag_seconds ")
    ]
    return float(line.split()[1])


@contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    """Stop processes by SIGSTOP, and continue them at the end."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def backends(database: str, application: str) -> list[int]:
    """Return the process ids of a process's connections."""
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = %s", [application]
        )
        return [row[0] for row in rows]


def postmaster(postgres: Postgres) -> int:
    """Return the process id of the server itself."""
    return int((postgres.data / "postmaster.pid").read_text("utf-8").split("\n")[0])


def test_an_idle_worker_was_never_ready(database: str, broker: Broker) -> None:
    """A worker is ready once broker and database answered, before its first record."""
    with running(database, broker.port) as (_, url):
        wait_for(lambda: status(f"{url}/readyz") == 200)


def test_a_hanging_backend_held_the_worker_for_ever(
    database: str, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker leaves a connection whose server process is stopped, and stores on a new one."""
    monkeypatch.setattr(reconnecting, "INGEST", Use("tcuq-ingest", 5))
    with running(database, broker.port), Sender(broker.port) as sender:
        sender.send(records_of([1]))
        wait_for(lambda: len(sender.acknowledged) == 1)
        with stopped(backends(database, "tcuq-ingest")):
            sender.send(records_of(range(2, 10)))
            wait_for(lambda: len(sender.acknowledged) == 9)


def test_a_hanging_database_left_the_worker_ready_and_its_lag_at_rest(
    database: str, postgres: Postgres, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the whole database hangs the lag rises, readiness is lost and liveness is not."""
    monkeypatch.setattr(reconnecting, "INGEST", Use("tcuq-ingest", 5))
    with running(database, broker.port) as (_, url), Sender(broker.port) as sender:
        sender.send(records_of([1]))
        wait_for(lambda: len(sender.acknowledged) == 1)
        wait_for(lambda: status(f"{url}/readyz") == 200)
        pids = [postmaster(postgres), *backends(database, "tcuq-ingest")]
        with stopped(pids):
            sender.send(records_of(range(2, 10)))
            wait_for(lambda: status(f"{url}/readyz") == 503)
            wait_for(lambda: lag_s(url) > 8)
            assert status(f"{url}/healthz") == 200
        wait_for(lambda: len(sender.acknowledged) == 9)
        wait_for(lambda: status(f"{url}/readyz") == 200)


def test_the_lag_froze_while_the_database_was_killed(
    database: str, postgres: Postgres, broker: Broker
) -> None:
    """The lag rises while a batch waits for a database that is away, and falls afterwards."""
    with running(database, broker.port) as (_, url), Sender(broker.port) as sender:
        sender.send(records_of([1]))
        wait_for(lambda: len(sender.acknowledged) == 1)
        postgres.stop("immediate")
        try:
            sender.send(records_of([2]))
            wait_for(lambda: lag_s(url) > 3)
        finally:
            postgres.start()
        wait_for(lambda: len(sender.acknowledged) == 2)
        sender.send(records_of([3]))
        wait_for(lambda: lag_s(url) < 2)


def test_a_worker_without_its_broker_was_reported_dead(
    database: str, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a broker a worker stays alive, by a clock that runs thirty times as fast."""
    broker.stop()
    monkeypatch.setattr("tcuq_fleet.ingest.metrics.ALIVE_S", 2.0)
    monkeypatch.setattr("tcuq_fleet.ingest.worker.MAX_BACKOFF_S", 1.0)
    with running(database, broker.port) as (_, url):
        end = time.monotonic() + 6
        while time.monotonic() < end:
            assert status(f"{url}/healthz") == 200
            assert status(f"{url}/readyz") == 503
            time.sleep(0.2)


def test_half_sent_requests_silenced_health_and_metrics(
    database: str, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 250 half-sent requests health and metrics answer, and those connections are closed."""
    monkeypatch.setattr(http_protocol, "REQUEST_S", 3.0)
    heads = [
        b"GET /metrics HTTP/1.1\r\nHost: x\r\n",
        b"POST /v1/records HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf",
    ]
    with running(database, broker.port) as (_, url), ExitStack() as stack:
        port = int(url.rsplit(":", 1)[1])
        clients = []
        for number in range(250):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.sendall(heads[number % 2])
            clients.append(client)
        for path in ("healthz", "metrics", "healthz", "metrics"):
            assert status(f"{url}/{path}") == 200  # within 5 s, else it raises
        time.sleep(4)
        for client in clients:
            client.settimeout(5)
            assert is_closed(client)


def is_closed(client: socket.socket) -> bool:
    """Return whether the server closed a connection, perhaps after a response."""
    try:
        while client.recv(4096):
            pass
    except ConnectionResetError:
        return True
    return True


def test_a_worker_died_at_its_first_record_without_rights(
    database: str, broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker whose role lacks rights says so in one line, waits, and stores once it has them."""
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("DROP ROLE IF EXISTS poor")
        owner.execute("CREATE ROLE poor LOGIN")
        owner.execute("GRANT SELECT ON schema_version TO poor")
        try:
            poor = database.replace("//tcuq@", "//poor@")
            with running(poor, broker.port), Sender(broker.port) as sender:
                sender.send(records_of([1]))
                wait_for(lambda: "permission denied" in caplog.text)
                owner.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO poor")
                wait_for(lambda: len(sender.acknowledged) == 1)
        finally:
            owner.execute("DROP OWNED BY poor")
            owner.execute("DROP ROLE poor")
    assert all("\n" not in record.getMessage() for record in caplog.records)


def test_a_worker_says_what_creates_missing_tables(
    database: str, broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    """Without tables a worker names `tcuq fleet migrate`, and stores after it ran."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    with running(database, broker.port) as (_, url), Sender(broker.port) as sender:
        sender.send(records_of([1]))
        wait_for(lambda: "schema 0" in caplog.text and "tcuq fleet migrate" in caplog.text)
        assert status(f"{url}/readyz") == 503
        assert main(["fleet", "migrate", "--database", database]) == 0
        wait_for(lambda: len(sender.acknowledged) == 1)


@pytest.fixture
def set_read_only(database: str, postgres: Postgres) -> Iterator[Callable[[bool], None]]:
    """Return a function that makes the database read-only for new sessions, as a standby is."""

    def set_it(value: bool) -> None:
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE one SET default_transaction_read_only = {value}")

    yield set_it
    set_it(False)
    assert database


def test_a_read_only_database_gave_the_judge_a_traceback(
    database: str,
    set_read_only: Callable[[bool], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The judge names a read-only database in one line."""
    set_read_only(True)
    assert main(["fleet", "judge", "--once", "--database", database]) == 1
    error = capsys.readouterr().err
    assert error.startswith("tcuq: the database: ")
    assert "read-only" in error
    assert error.count("\n") == 1
    set_read_only(False)
    assert main(["fleet", "judge", "--once", "--database", database]) == 0


def test_a_worker_waits_for_a_read_only_database(
    database: str, broker: Broker, set_read_only: Callable[[bool], None]
) -> None:
    """A worker is not ready for a read-only database, and stores once it may write."""
    set_read_only(True)
    with running(database, broker.port) as (_, url), Sender(broker.port) as sender:
        sender.send(records_of([1]))
        time.sleep(1)
        assert status(f"{url}/readyz") == 503
        set_read_only(False)
        wait_for(lambda: len(sender.acknowledged) == 1)
