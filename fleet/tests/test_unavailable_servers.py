# SPDX-License-Identifier: Apache-2.0
"""A worker and the judge while their servers hang, vanish, refuse or are read-only."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, LiteralString

import httpx
import psycopg
import pytest

from fleet.tests.fixtures.records import records_of
from fleet.tests.fixtures.sender import Sender, wait_for
from fleet.tests.fixtures.servers import Fault, local_broker, read_only, running_worker
from tcuq.cli import main
from tcuq_fleet import http_protocol
from tcuq_fleet.http_server import create_server
from tcuq_fleet.ingest.http_ingest import create_health_app
from tcuq_fleet.servers import Broker, Postgres, free_port
from tcuq_fleet.store import reconnecting
from tcuq_fleet.store.connection import Use, time_limit


@contextmanager
def running(database: str, broker: Broker) -> Iterator[str]:
    """Run a worker with its HTTP server; yield the server's URL."""
    with running_worker(database, local_broker(broker.port)) as worker:
        port = free_port()
        server = create_server(create_health_app(worker.metrics), "127.0.0.1", port)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            wait_for(lambda: server.started)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join()


def status(url: str) -> int:
    """Return the status of a GET request."""
    return httpx.get(url, timeout=5).status_code


def lag_s(url: str) -> float:
    """Return the lag that a worker's metrics state."""
    text = httpx.get(f"{url}/metrics", timeout=5).text
    (value,) = [line.split()[1] for line in text.splitlines() if line.startswith("tcuq_ingest_lag")]
    return float(value)


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


def backends(database: str) -> list[int]:
    """Return the process ids of the workers' connections."""
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'tcuq-ingest'"
        )
        return [row[0] for row in rows]


def test_an_idle_worker_is_ready(database: str, broker: Broker) -> None:
    """A worker is ready once broker and database answered, before its first record."""
    with running(database, broker) as url:
        wait_for(lambda: status(f"{url}/readyz") == 200)


def test_a_worker_leaves_a_connection_that_hangs(
    database: str, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker leaves a connection whose server process is stopped, and stores on a new one."""
    monkeypatch.setattr(reconnecting, "INGEST", Use("tcuq-ingest", 5))
    with running(database, broker), Sender(broker.port) as sender:
        sender.send(records_of([1]))
        wait_for(lambda: len(sender.acknowledged) == 1)
        with stopped(backends(database)):
            sender.send(records_of(range(2, 10)))
            wait_for(lambda: len(sender.acknowledged) == 9)


def test_time_limits_share_one_thread_and_end_only_what_takes_longer(database: str) -> None:
    """A connection in use beyond its limit is ended, others stay, and no use starts a thread."""
    with psycopg.connect(database) as late, psycopg.connect(database) as quick, ExitStack() as uses:
        uses.enter_context(time_limit(late, 0))
        threads = threading.active_count()
        uses.enter_context(time_limit(quick, 60))
        wait_for(lambda: late.closed or not answers(late))
        assert answers(quick)
        assert threading.active_count() == threads


def answers(connection: psycopg.Connection[Any]) -> bool:
    """Return whether a connection executes a statement."""
    try:
        connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.parametrize("fault", ["hangs", "is away"])
def test_the_lag_rises_and_readiness_is_lost_without_a_database(
    database: str,
    postgres: Postgres,
    broker: Broker,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
) -> None:
    """Liveness stays; afterwards what was received is stored and the worker is ready again."""
    monkeypatch.setattr(reconnecting, "INGEST", Use("tcuq-ingest", 5))
    with running(database, broker) as url, Sender(broker.port) as sender:
        sender.send(records_of([1]))
        wait_for(lambda: len(sender.acknowledged) == 1)
        wait_for(lambda: status(f"{url}/readyz") == 200)
        with ExitStack() as stack:
            if fault == "hangs":
                server = int((postgres.data / "postmaster.pid").read_text("utf-8").split("\n")[0])
                stack.enter_context(stopped([server, *backends(database)]))
            else:
                postgres.crash()
                stack.callback(postgres.start)
            sender.send(records_of(range(2, 10)))
            wait_for(lambda: status(f"{url}/readyz") == 503)
            wait_for(lambda: lag_s(url) > 5)
            assert status(f"{url}/healthz") == 200
            assert len(sender.acknowledged) == 1
        wait_for(lambda: len(sender.acknowledged) == 9)
        sender.send(records_of([10]))
        wait_for(lambda: lag_s(url) < 2)
        wait_for(lambda: status(f"{url}/readyz") == 200)
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM devices").fetchone() == (10,)


def test_a_worker_without_its_broker_is_alive(
    database: str, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a broker a worker stays alive, by a clock that runs thirty times as fast."""
    broker.stop()
    monkeypatch.setattr("tcuq_fleet.ingest.metrics.ALIVE_S", 2.0)
    monkeypatch.setattr("tcuq_fleet.ingest.worker.MAX_BACKOFF_S", 1.0)
    with running(database, broker) as url:
        end = time.monotonic() + 6
        while time.monotonic() < end:
            assert status(f"{url}/healthz") == 200
            assert status(f"{url}/readyz") == 503
            time.sleep(0.2)


def test_half_sent_requests_do_not_delay_health_and_metrics(
    database: str, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 250 half-sent requests health and metrics answer, and those connections are closed."""
    monkeypatch.setattr(http_protocol, "REQUEST_S", 3.0)
    heads = [
        b"GET /metrics HTTP/1.1\r\nHost: x\r\n",
        b"POST /v1/records HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf",
    ]
    with running(database, broker) as url, ExitStack() as stack:
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


@contextmanager
def role_without_rights(database: str) -> Iterator[Fault]:
    """Use a role that may not write."""
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("DROP ROLE IF EXISTS poor")
        owner.execute("CREATE ROLE poor LOGIN")
        owner.execute("GRANT SELECT ON schema_version TO poor")
        grant: LiteralString = "GRANT ALL ON ALL TABLES IN SCHEMA public TO poor"
        try:
            yield database.replace("//tcuq@", "//poor@"), lambda: owner.execute(grant)
        finally:
            owner.execute("DROP OWNED BY poor")
            owner.execute("DROP ROLE poor")


@contextmanager
def no_tables(database: str) -> Iterator[Fault]:
    """Delete the tables."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    yield database, lambda: main(["fleet", "migrate", "--database", database])


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (role_without_rights, "permission denied"),
        (no_tables, "run  tcuq fleet migrate"),
        (read_only, "read-only"),
    ],
)
def test_a_worker_waits_until_an_operator_repairs_the_database(
    database: str,
    broker: Broker,
    caplog: pytest.LogCaptureFixture,
    fault: Callable[[str], AbstractContextManager[Fault]],
    message: str,
) -> None:
    """It logs in one line what is missing, and stores the record once that is repaired."""
    with fault(database) as (url, repair), running(url, broker), Sender(broker.port) as sender:
        sender.send(records_of([1]))
        wait_for(lambda: message in caplog.text)
        assert not sender.acknowledged
        repair()
        wait_for(lambda: len(sender.acknowledged) == 1)
    assert all("\n" not in record.getMessage() for record in caplog.records)


def test_the_judge_names_a_read_only_database_in_one_line(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error has no traceback, and the judge judges once it may write."""
    judge = ["fleet", "judge", "--once", "--database", database]
    with read_only(database) as (_, repair):
        assert main(judge) == 1
        error = capsys.readouterr().err
        assert error.startswith("tcuq: the database: ")
        assert "read-only" in error
        assert error.count("\n") == 1
        repair()
    assert main(judge) == 0
