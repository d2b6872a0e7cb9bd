# SPDX-License-Identifier: Apache-2.0
"""`fleet up` as the documents start it, and a database restored from a dump."""

import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from fleet.tests.fixtures.load import stored_part
from fleet.tests.fixtures.sender import records_of, wait_for
from tcuq.cli import main
from tcuq_fleet.servers import Broker, Postgres, free_port, is_listening, postgresql_program
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.store.store import Store

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
    names = ("broker", "ingest", "dashboard")
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        ports = {name: free_port() for name in names}
        with started("README.md", Path(name), ports) as dashboard:
            simulation = subprocess.run(
                [
                    *COMMAND, *documented("fleet/docs/index.md", "simulate"), "--broker", f"mqtt://127.0.0.1:{ports['broker']}",
                    "--devices", "50", "--hours", "4", "--hour-s", "0.5", "--json",
                ],
                capture_output=True,
                check=True,
            )  # fmt: skip
            assert json.loads(simulation.stdout)["waiting"] == 0
            wait_for(lambda: devices_shown(dashboard) == 50)
        with started("fleet/docs/index.md", Path(name), ports) as dashboard:
            wait_for(lambda: devices_shown(dashboard) == 50)


def test_a_port_in_use_is_named(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    """A port in use is an error before anything is started."""
    with tempfile.TemporaryDirectory() as name:
        assert main(["fleet", "up", "--folder", name, "--dashboard-port", str(broker.port)]) == 1
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


PORTS = ("broker", "ingest", "dashboard")


@contextmanager
def fleet_up(folder: Path, ports: dict[str, int]) -> Iterator["subprocess.Popen[str]"]:
    """Run `tcuq fleet up` in its own session, as a terminal does; kill what is left of it."""
    options = [f"--{name}-port={port}" for name, port in ports.items()]
    process = subprocess.Popen(
        ["env", "--default-signal=HUP",  # the tests may run under nohup, which ignores it
         *COMMAND, "up", "--folder", str(folder), "--json", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        json.loads(process.stdout.readline())
        yield process
    finally:
        process.kill()
        process.communicate()


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


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder with a short path that every account can enter."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_a_closed_terminal_left_five_processes_behind(folder: Path, number: int) -> None:
    """A closed terminal (SIGHUP) or a killed parent leaves no process, and its ports are free."""
    ports = {name: free_port() for name in PORTS}
    with fleet_up(folder, ports) as process:
        wait_for(lambda: len(running_in(folder)) >= 5)
        process.send_signal(number)
        wait_for(lambda: not running_in(folder))
        wait_for(lambda: not any(is_listening(port) for port in ports.values()))


def test_a_killed_broker_stayed_dead_in_silence(folder: Path) -> None:
    """Killed servers are restarted, and standard error says so."""
    ports = {name: free_port() for name in PORTS}
    with fleet_up(folder, ports) as process:
        wait_for(lambda: readiness(ports["ingest"]) == 200)
        (broker,) = [
            pid for pid in running_in(folder)
            if b"mosquitto.conf" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]  # fmt: skip
        killed = postmaster(folder)
        os.kill(broker, signal.SIGKILL)
        wait_for(lambda: not is_listening(ports["broker"]))
        wait_for(lambda: is_listening(ports["broker"]))
        os.kill(killed, signal.SIGKILL)
        wait_for(lambda: postmaster(folder) not in (0, killed))
        wait_for(lambda: readiness(ports["ingest"]) == 200)
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


def test_another_local_user_was_a_superuser_without_a_password(
    postgres: Postgres, folder: Path
) -> None:
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
