# SPDX-License-Identifier: Apache-2.0
"""`fleet up` as the documents start it, and a database restored from a dump."""

import json
import os
import re
import shlex
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import psycopg
import pytest

from fleet.tests.fixtures.load import stored_part
from fleet.tests.fixtures.records import records_of
from fleet.tests.fixtures.sender import wait_for
from fleet.tests.fixtures.servers import fleet_command, new_database, open_folder
from tcuq.cli import main
from tcuq_fleet.servers import Broker, Postgres, free_port, is_listening, postgresql_program
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.store.store import Store

ROOT = Path(__file__).parents[2]


class Ports(NamedTuple):
    """The ports of a fleet on this machine."""

    broker: int
    ingest: int
    dashboard: int


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder with a short path that every account can enter."""
    with open_folder() as path:
        yield path


def documented(document: str, command: str) -> list[str]:
    """Return the arguments of a fleet command as a document gives them."""
    text = (ROOT / document).read_text("utf-8")
    (line,) = re.findall(rf"^\$ tcuq fleet ({command}\b.*)$", text, re.MULTILINE)
    return shlex.split(line)


@contextmanager
def fleet_up(folder: Path, *words: str) -> Iterator[tuple["subprocess.Popen[str]", Ports]]:
    """Run `tcuq fleet up` in its own session, as a terminal does; kill what is left of it."""
    ports = Ports(free_port(), free_port(), free_port())
    options = [f"--{name}-port={port}" for name, port in ports._asdict().items()]
    line = fleet_command("up", *words, "--folder", str(folder), "--every", "1", "--json", *options)
    process = subprocess.Popen(
        ["env", "--default-signal=HUP", *line],  # the tests may run under nohup, which ignores it
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        json.loads(process.stdout.readline())
        yield process, ports
    finally:
        process.kill()
        process.communicate()


def devices_shown(ports: Ports) -> int:
    """Return how many devices the dashboard shows."""
    try:
        response = httpx.get(f"http://127.0.0.1:{ports.dashboard}/api/fleet")
        return int(response.json()["devices"] or 0)
    except (httpx.HTTPError, KeyError):
        return 0


def test_up_shows_simulated_devices_and_continues_after_a_stop(folder: Path) -> None:
    """The documents' commands show simulated devices, also after a restart."""
    with fleet_up(folder, *documented("README.md", "up")[1:]) as (process, ports):
        simulate = documented("fleet/docs/index.md", "simulate")
        few = ("--devices", "50", "--hours", "4", "--hour-s", "0.5", "--json")
        line = fleet_command(*simulate, "--broker", f"mqtt://127.0.0.1:{ports.broker}", *few)
        simulation = subprocess.run(line, capture_output=True, check=True)
        assert json.loads(simulation.stdout)["waiting"] == 0
        wait_for(lambda: devices_shown(ports) == 50)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    with fleet_up(folder, *documented("fleet/docs/index.md", "up")[1:]) as (_, ports):
        wait_for(lambda: devices_shown(ports) == 50)


def test_a_port_in_use_is_named(
    broker: Broker, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A port in use is an error before anything is started."""
    up = ["fleet", "up", "--folder", str(folder), "--dashboard-port", str(broker.port)]
    assert main(up) == 1
    assert f"port {broker.port} is in use: choose another by --" in capsys.readouterr().err


def test_the_next_records_complete_a_restored_dump(
    store: Store, database: str, postgres: Postgres, tmp_path: Path
) -> None:
    """After a restore the next record of each device brings its counters up to date."""
    site = store.site("berlin")
    store.put(Batch.of([(stored_part(records_of(range(100))), site)]))
    dump = tmp_path / "fleet.dump"
    subprocess.run([postgresql_program("pg_dump"), "-Fc", "-f", dump, database], check=True)
    store.put(Batch.of([(stored_part(records_of(range(100), sequence=1)), site)]))
    restored = new_database(postgres, "restored")
    subprocess.run([postgresql_program("pg_restore"), "-d", restored, dump], check=True)
    with Store(restored) as other:
        newest = stored_part(records_of(range(100), sequence=2))
        other.put(Batch.of([(newest, other.site("berlin"))]))
        row = other.connection.execute("SELECT sum(steps), count(*) FROM cohorts").fetchone()
    assert row == (100 * 300, 1)


def running_in(folder: Path) -> list[int]:
    """Return the processes whose command line names the folder or that run in it."""
    lines = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"%2F", b"/")
            except OSError:
                continue
            if bytes(folder) in line:
                lines.append(int(entry.name))
    return lines


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_no_process_outlives_the_terminal(folder: Path, number: int) -> None:
    """A closed terminal (SIGHUP) or a killed parent leaves no process, and its ports are free."""
    with fleet_up(folder) as (process, ports):
        wait_for(lambda: len(running_in(folder)) >= 5)
        process.send_signal(number)
        wait_for(lambda: not running_in(folder))
        wait_for(lambda: not any(is_listening(port) for port in ports))


def test_killed_servers_are_restarted(folder: Path) -> None:
    """Broker and database run again, and standard error says so."""
    with fleet_up(folder) as (process, ports):
        wait_for(lambda: readiness(ports.ingest) == 200)
        (broker,) = [
            pid for pid in running_in(folder)
            if b"mosquitto.conf" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]  # fmt: skip
        killed = postmaster(folder)
        os.kill(broker, signal.SIGKILL)
        wait_for(lambda: not is_listening(ports.broker))
        wait_for(lambda: is_listening(ports.broker))
        os.kill(killed, signal.SIGKILL)
        wait_for(lambda: postmaster(folder) not in (0, killed))
        wait_for(lambda: readiness(ports.ingest) == 200)
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate()
    assert "the broker exited" in error
    assert "PostgreSQL exited" in error


def postmaster(folder: Path) -> int:
    """Return the process that PostgreSQL's folder names, 0 while it names none."""
    try:
        return int((folder / "postgresql/postmaster.pid").read_text("utf-8").split()[0])
    except (OSError, IndexError):
        return 0


def readiness(port: int) -> int:
    """Return the status of a worker's readiness, 0 while it does not listen."""
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=10).status_code
    except httpx.HTTPError:
        return 0


def test_another_local_user_cannot_reach_the_database(postgres: Postgres, folder: Path) -> None:
    """PostgreSQL has no TCP port, and another account cannot reach its socket."""
    with psycopg.connect(postgres.url) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    assert stat.S_IMODE(postgres.data.stat().st_mode) == 0o700
    if os.geteuid() != 0:
        return  # only root can become another user
    psql = [postgresql_program("psql"), "-h", str(postgres.data), "-U", "tcuq", "-c", "SELECT 1"]
    result = subprocess.run(
        [*psql, "fleet"], user="nobody", cwd=folder, capture_output=True, text=True, check=False
    )
    assert result.returncode != 0
    assert "Permission denied" in result.stderr
