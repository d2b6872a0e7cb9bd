# SPDX-License-Identifier: Apache-2.0
"""`fleet up` as the documents start it, and a database restored from a dump."""

import json
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from tcuq.cli import main
from tcuq.fleet.servers import Postgres, free_port, postgresql_program
from tcuq.fleet.store.batch import Batch
from tcuq.fleet.store.store import Store
from tests.fixtures.fleet.sender import records_of, wait_for
from tools.measurements.fleet_load import stored_part

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tcuq.cli", "fleet"]


def documented(document: str, command: str) -> list[str]:
    """Return the arguments of a fleet command as a document gives them."""
    text = (ROOT / document).read_text("utf-8")
    (line,) = re.findall(rf"^\$ tcuq fleet ({command}\b.*)$", text, re.MULTILINE)
    return shlex.split(line)


@contextmanager
def started(document: str, folder: Path, ports: dict[str, int]) -> Iterator[str]:
    """Run `tcuq fleet up` as a document gives it; yield the dashboard's URL; stop it by SIGTERM."""
    options = [f"--{name}-port={port}" for name, port in ports.items()]
    process = subprocess.Popen(
        [
            *COMMAND,
            *documented(document, "up"),
            "--folder",
            str(folder),
            "--every",
            "1",
            "--json",
            *options,
        ],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["dashboard"]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert process.returncode == 0


def devices_shown(dashboard: str) -> int:
    """Return how many devices the dashboard shows."""
    try:
        return int(httpx.get(f"{dashboard}/api/fleet").json()["devices"] or 0)
    except (httpx.HTTPError, KeyError):
        return 0


def test_up_shows_simulated_devices_and_continues_after_a_stop() -> None:
    """The documents' commands show simulated devices, also after a restart."""
    names = ("broker", "database", "ingest", "dashboard")
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        ports = {name: free_port() for name in names}
        with started("README.md", Path(name), ports) as dashboard:
            simulation = subprocess.run(
                [
                    *COMMAND, *documented("docs/fleet/index.md", "simulate"), "--broker", f"mqtt://127.0.0.1:{ports['broker']}",
                    "--devices", "50", "--hours", "4", "--hour-s", "0.5", "--json",
                ],
                capture_output=True,
                check=True,
            )  # fmt: skip
            assert json.loads(simulation.stdout)["waiting"] == 0
            wait_for(lambda: devices_shown(dashboard) == 50)
        with started("docs/fleet/index.md", Path(name), ports) as dashboard:
            wait_for(lambda: devices_shown(dashboard) == 50)


def test_a_port_in_use_is_named(postgres: Postgres, capsys: pytest.CaptureFixture[str]) -> None:
    """A port in use is an error before anything is started."""
    with tempfile.TemporaryDirectory() as name:
        assert main(["fleet", "up", "--folder", name, "--dashboard-port", str(postgres.port)]) == 1
    assert f"port {postgres.port} is in use: choose another by --" in capsys.readouterr().err


def test_the_next_records_complete_a_restored_dump(
    store: Store, database: str, postgres: Postgres, tmp_path: Path
) -> None:
    """After a restore the next record of each device brings its counters up to date."""
    site = store.site("berlin")
    store.put(Batch.of([(stored_part(records_of(range(100))), site)]))
    dump = tmp_path / "fleet.dump"
    subprocess.run([postgresql_program("pg_dump"), "-Fc", "-f", dump, database], check=True)
    store.put(Batch.of([(stored_part(records_of(range(100), sequence=1)), site)]))
    with psycopg.connect(postgres.url, autocommit=True) as maintenance:
        maintenance.execute("DROP DATABASE IF EXISTS restored WITH (FORCE)")
        maintenance.execute("CREATE DATABASE restored")
    restored = postgres.url.removesuffix("fleet") + "restored"
    subprocess.run([postgresql_program("pg_restore"), "-d", restored, dump], check=True)
    with Store(restored) as other:
        newest = stored_part(records_of(range(100), sequence=2))
        other.put(Batch.of([(newest, other.site("berlin"))]))
        row = other.connection.execute("SELECT sum(steps), count(*) FROM cohorts").fetchone()
    assert row == (100 * 300, 1)
