# SPDX-License-Identifier: Apache-2.0
"""Least privilege: each process runs with its own role, and that role can do no more."""

from pathlib import Path

import psycopg
import pytest

from fleet.tests.fixtures.dashboard_server import get, live, post
from fleet.tests.fixtures.records import records_of
from fleet.tests.fixtures.sender import Sender, wait_for
from fleet.tests.fixtures.servers import as_role, private_postgres, running_worker
from tcuq.cli import main
from tcuq_fleet.mqtt import BrokerAddress
from tcuq_fleet.servers import Broker, Postgres, free_port
from tcuq_fleet.store.migrate import ROLES


def test_every_process_runs_with_its_own_role(
    with_roles: str, broker: Broker, broker_address: BrokerAddress
) -> None:
    """Ingest stores, the judge judges and deletes, the dashboard shows and acts, by its role."""
    ingest = running_worker(as_role(with_roles, "tcuq_ingest"), broker_address)
    with ingest as worker, Sender(broker.port) as sender:
        wait_for(lambda: worker.metrics.ready)
        sender.send(records_of(range(20)))
        sender.send(records_of([1], sequence=1))
        sender.client.publish("tcuq/berlin/0000000000000001/record", b"damaged", qos=1)
        wait_for(lambda: sender.acknowledged.get((1, 1)) == 1)
        wait_for(lambda: len(sender.acknowledged) == 20)
    judge = ["fleet", "judge", "--once", "--keep", "epochs=2", "--database"]
    assert main([*judge, as_role(with_roles, "tcuq_judge")]) == 0
    with live(as_role(with_roles, "tcuq_serve")) as address:
        assert get(f"{address}/readyz").status_code == 200
        assert get(address).status_code == 200
        assert "tcuq_fleet_database_up 1.0" in get(f"{address}/metrics").text
        device = f"{address}/api/devices/{1:016x}"
        with psycopg.connect(with_roles, autocommit=True) as connection:
            connection.execute(
                "INSERT INTO alarms (kind, device, evidence) VALUES ('silent', 1, 1)"
            )
            connection.execute(
                "INSERT INTO quarantine (device, site, boot, record) VALUES (1, 1, 99999, '')"
            )
        assert post(f"{device}/release").status_code == 200
        assert (
            post(f"{device}/mute?hours=1").status_code
            == post(f"{device}/retire").status_code
            == 200
        )
        assert post(f"{address}/api/alarms/1/acknowledge").status_code == 200


def listen_on_tcp(server: Postgres, port: int) -> None:
    """Restart a server so that it also listens on a loopback port, with passwords."""
    hba = server.data / "pg_hba.conf"
    rules = hba.read_text("utf-8")
    hba.write_text(f"host all all 127.0.0.1/32 scram-sha-256\n{rules}", "utf-8")
    server.stop()
    server.settings = f"listen_addresses = '127.0.0.1'\nlog_statement = all\nport = {port}\n"
    server.launch()


def test_a_role_needs_the_password_of_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over TCP the judge's role connects with its password file alone; no log shows a password."""
    for role in ROLES:
        (tmp_path / role).write_text(f"password of {role}\n", "utf-8")
        (tmp_path / role).chmod(0o600)
    with private_postgres(memory="64MB") as server:
        port = free_port()
        monkeypatch.setenv("PGPORT", str(port))  # it names the socket as well
        listen_on_tcp(server, port)
        migrate = ["fleet", "migrate", "--roles", "--passwords", str(tmp_path)]
        assert main([*migrate, "--database", server.url]) == 0
        url = f"postgresql://tcuq_judge@127.0.0.1:{port}/fleet"
        judge = ["fleet", "judge", "--once", "--database", url, "--database-password-file"]
        assert main([*judge, str(tmp_path / "tcuq_judge")]) == 0
        assert main([*judge, str(tmp_path / "tcuq_serve")]) == 1
        log = (server.data / "log").read_text("utf-8")
    assert "password authentication failed" in capsys.readouterr().err
    assert "ALTER ROLE" in log
    assert "password of" not in log


def test_the_owner_migrates_without_being_superuser(with_roles: str) -> None:
    """Later migrations run with the owner's role."""
    assert main(["fleet", "migrate", "--database", as_role(with_roles, "tcuq_owner")]) == 0
