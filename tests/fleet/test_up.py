# SPDX-License-Identifier: Apache-2.0
"""Everything on one machine, as a new user starts it; and a database that moves by its dump."""

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
from sending import records_of, wait_for

from tcuq.cli import main
from tcuq.fleet.servers import Postgres, free_port, program
from tcuq.fleet.store.batch import Batch
from tcuq.fleet.store.tables import Store
from tools.measurements.fleet_load import stored_part

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tcuq.cli", "fleet"]


def typed(document: str, command: str) -> list[str]:
    """The words of a fleet command as a document gives them."""
    text = (ROOT / document).read_text("utf-8")
    (line,) = re.findall(rf"^\$ tcuq fleet ({command}\b.*)$", text, re.MULTILINE)
    return shlex.split(line)


@contextmanager
def started(document: str, folder: Path, ports: dict[str, int]) -> Iterator[str]:
    """`tcuq fleet up` as a document says it; the dashboard's address. Ctrl-C ends it."""
    options = [f"--{name}-port={port}" for name, port in ports.items()]
    process = subprocess.Popen(
        [
            *COMMAND,
            *typed(document, "up"),
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
    """How many the dashboard knows of."""
    try:
        return int(httpx.get(f"{dashboard}/api/fleet").json()["devices"] or 0)
    except (httpx.HTTPError, KeyError):
        return 0


def test_up_simulate_look_stop_and_go_on() -> None:
    """Two commands of the documents; the dashboard shows the devices, and again after a stop."""
    names = ("broker", "database", "ingest", "dashboard")
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        ports = {name: free_port() for name in names}
        with started("README.md", Path(name), ports) as dashboard:
            simulated = subprocess.run(
                [
                    *COMMAND, *typed("docs/fleet/index.md", "simulate"), "--broker", f"mqtt://127.0.0.1:{ports['broker']}",
                    "--devices", "50", "--hours", "4", "--hour-s", "0.5", "--json",
                ],
                capture_output=True,
                check=True,
            )  # fmt: skip
            assert json.loads(simulated.stdout)["waiting"] == 0
            wait_for(lambda: devices_shown(dashboard) == 50)
        with started("docs/fleet/index.md", Path(name), ports) as dashboard:
            wait_for(lambda: devices_shown(dashboard) == 50)


def test_a_port_that_is_taken_is_named(
    postgres: Postgres, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is started."""
    with tempfile.TemporaryDirectory() as name:
        assert main(["fleet", "up", "--folder", name, "--dashboard-port", str(postgres.port)]) == 1
    assert f"port {postgres.port} is taken: give another by --" in capsys.readouterr().err


def test_a_dump_taken_while_records_come_is_made_whole_by_the_next_ones(
    store: Store, database: str, postgres: Postgres, tmp_path: Path
) -> None:
    """Restored elsewhere, the next record of each device brings its counters up to date."""
    site = store.site("berlin")
    store.put(Batch.of([(stored_part(records_of(range(100))), site)]))
    dump = tmp_path / "fleet.dump"
    subprocess.run([program("pg_dump"), "-Fc", "-f", dump, database], check=True)
    store.put(Batch.of([(stored_part(records_of(range(100), sequence=1)), site)]))
    with psycopg.connect(postgres.url, autocommit=True) as maintenance:
        maintenance.execute("DROP DATABASE IF EXISTS restored WITH (FORCE)")
        maintenance.execute("CREATE DATABASE restored")
    restored = postgres.url.removesuffix("fleet") + "restored"
    subprocess.run([program("pg_restore"), "-d", restored, dump], check=True)
    with Store(restored) as other:
        newest = stored_part(records_of(range(100), sequence=2))
        other.put(Batch.of([(newest, other.site("berlin"))]))
        row = other.connection.execute("SELECT sum(steps), count(*) FROM cohorts").fetchone()
    assert row == (100 * 300, 1)
