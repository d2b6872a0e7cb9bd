# SPDX-License-Identifier: Apache-2.0
"""The database over TLS with `sslmode=verify-full`, and behind pgbouncer in session mode."""

import shutil
from contextlib import nullcontext
from pathlib import Path
from secrets import randbelow

import psycopg
import pytest
import trustme

from fleet.tests.fixtures.dashboard_server import get, live
from fleet.tests.fixtures.records import put, record
from fleet.tests.fixtures.replication import ACCOUNT
from fleet.tests.fixtures.servers import create_tables, open_folder
from tcuq_fleet.child import start_child
from tcuq_fleet.judge.retention import Retention
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.judge.schedule import judge_now
from tcuq_fleet.servers import Postgres, Server, free_port
from tcuq_fleet.store.connection import JUDGE, DatabaseUnavailableError, connect
from tcuq_fleet.store.store import Store

CONF = """
[databases]
fleet = host={socket} dbname=fleet user=tcuq
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = session
ignore_startup_parameters = options
"""


class Pgbouncer(Server):
    """A pooler before a server, as fleet/docs/operate.md configures it."""

    def __init__(self, folder: Path, server: Postgres) -> None:
        self.port = free_port()
        self._conf = folder / "pgbouncer.ini"
        self._conf.write_text(CONF.format(socket=server.data, port=self.port), "utf-8")
        self._conf.chmod(0o644)

    def start(self) -> None:
        """Start it and wait until it answers."""
        log = self._conf.with_suffix(".log")
        with log.open("ab") as output:
            line = ["/usr/sbin/pgbouncer", str(self._conf)]
            self._process = start_child(line, output, account=ACCOUNT)
        self._wait_for(self._answers, log)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    @property
    def url(self) -> str:
        """The URL of the fleet's database."""
        return f"postgresql://tcuq@127.0.0.1:{self.port}/fleet"


def test_worker_judge_and_dashboard_work_through_pgbouncer() -> None:
    """In session mode the pooler changes nothing: records are stored, judged and shown."""
    with (
        open_folder() as folder,
        Postgres(folder) as server,
        Pgbouncer(folder, server) as pooler,
    ):
        create_tables(pooler.url)
        with Store(pooler.url) as store:
            put(store, *(record(device, 1, 0, 100) for device in range(1, 51)))
        judgement = judge_now([pooler.url], Rules(), Retention())
        assert judgement is not None
        assert judgement.devices == 50
        with live(pooler.url) as address:
            assert get(f"{address}/api/fleet").json()["devices"] == 50


def test_verify_full_refuses_another_server() -> None:
    """A URL with `sslmode=verify-full` reaches the server of that name and CA alone."""
    address = ".".join(["127", *(str(randbelow(250) + 1) for _ in range(3))])
    own, other = trustme.CA(), trustme.CA()
    with open_folder() as folder:
        server = Postgres(folder, settings=f"listen_addresses = '{address}'\nssl = on\n")
        for name, ca in (("own", own), ("other", other)):
            ca.cert_pem.write_to_path(str(folder / f"{name}.pem"))
        plain = Postgres(folder)
        plain.start()
        plain.stop()
        issued = own.issue_cert(address)
        (server.data / "server.crt").write_bytes(issued.cert_chain_pems[0].bytes())
        issued.private_key_pem.write_to_path(str(server.data / "server.key"))
        (server.data / "server.key").chmod(0o600)
        (server.data / "pg_hba.conf").write_text(
            "local all all trust\nhostssl all all 127.0.0.0/8 trust\n", "utf-8"
        )
        if ACCOUNT:
            for path in server.data.glob("server.*"):
                shutil.chown(path, ACCOUNT)
        server.launch()
        try:
            for trusted, host, accepted in (
                ("own", address, True), ("other", address, False), ("own", "localhost", False),
            ):  # fmt: skip
                url = (
                    f"postgresql://tcuq@{host}/fleet?hostaddr={address}&sslmode=verify-full"
                    f"&sslrootcert={folder}/{trusted}.pem"
                )
                with nullcontext() if accepted else pytest.raises(DatabaseUnavailableError):
                    connect(url, JUDGE).close()
        finally:
            server.crash()
