# SPDX-License-Identifier: Apache-2.0
"""A standalone Spark master and its workers as processes of their own, on loopback ports."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from tools.measurements.result import ROOT

HOME = Path(pyspark.__file__).parent
DAEMON = "org.apache.spark.deploy."
SMALL = ("spark.ui.enabled=false", "spark.sql.shuffle.partitions=2", "spark.log.level=INFO")


def environment() -> dict[str, str]:
    """Spark that is heard on loopback only and runs this Python."""
    local = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m", "PYTHONPATH": str(ROOT)}
    return {**os.environ, **local, "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(HOME)}


def job(folder: Path) -> Path:
    """The how-to's Spark job, as it stands there."""
    page = (ROOT / "docs/howto/replay.md").read_text("utf-8")
    (block,) = re.findall(r"^```python\n(# job\.py\n.*?)^```", page, re.MULTILINE | re.DOTALL)
    (folder / "job.py").write_text(block, "utf-8")
    return folder / "job.py"


def submit(
    master: str, script: Path, *arguments: object, log: Path, conf: tuple[str, ...] = ()
) -> subprocess.Popen[str]:
    """A job on its way; standard output is its last words."""
    settings = [word for pair in (*SMALL, *conf) for word in ("--conf", pair)]
    command = [str(HOME / "bin/spark-submit"), "--master", master, *settings, str(script)]
    with log.open("w") as file:
        return subprocess.Popen(
            [*command, *map(str, arguments)],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
        )


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A master's address and its workers; all end with the block."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        log = _start(started, folder, "master.Master", "--host", "127.0.0.1", "--port", "0")
        address = _wait_for(log, r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            options = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", address)
            home = ("--work-dir", str(folder / f"work{number}"))
            log = _start(started, folder, "worker.Worker", *home, *options)
            _wait_for(log, r"(Successfully registered) with master")
        yield address, started[1:]
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait()


def _start(started: list[subprocess.Popen[bytes]], folder: Path, name: str, *options: str) -> Path:
    log = folder / f"{len(started)}.log"
    command = [str(HOME / "bin/spark-class"), DAEMON + name, "--webui-port", "0", *options]
    with log.open("w") as file:
        started.append(subprocess.Popen(command, env=environment(), stdout=file, stderr=file))
    return log


def _wait_for(log: Path, pattern: str, seconds: float = 180) -> str:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        match = re.search(pattern, log.read_text("utf-8"))
        if match:
            return match[1]
        time.sleep(0.1)
    raise TimeoutError(f"{pattern} did not come:\n{log.read_text('utf-8')[-2000:]}")


def kill_with_children(process: subprocess.Popen[bytes], *, children_only: bool = False) -> None:
    """As the power goes: the worker and every executor and Python below it, or only those."""
    children = _below(process.pid)
    if not children_only:
        process.kill()
    for pid in children:
        os.kill(pid, 9)


def _below(pid: int) -> list[int]:
    # A child belongs to the thread that started it, in a JVM seldom the first.
    listed = [path.read_text("utf-8") for path in Path(f"/proc/{pid}/task").glob("*/children")]
    direct = [int(child) for children in listed for child in children.split()]
    return direct + [deeper for child in direct for deeper in _below(child)]
