# SPDX-License-Identifier: Apache-2.0
"""Container: execute the Containerfile's steps in a clean Debian root, without an engine.

mmdebstrap makes the root that the base image holds. The packages of Python are downloaded outside,
so that the root needs Debian's mirror alone. Needs root and `apt install mmdebstrap`.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from results.result import ROOT, Row, arguments, report

CONTAINERFILE = ROOT / "fleet/deploy/Containerfile"
AWAY = ["judge", "--once", "--database", "postgresql://127.0.0.1:1/fleet"]


def steps() -> list[tuple[str, str]]:
    """Instruction and argument of every step."""
    lines = [line for line in CONTAINERFILE.read_text("utf-8").splitlines() if line[:1] != "#"]
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines]


def build(root: Path, wheels: Path) -> str:
    """Execute the steps; return the user that the processes run as."""
    user = "0:0"
    for instruction, argument in steps():
        if instruction == "FROM":
            (suite,) = re.findall(r"/debian:(\w+)-slim$", argument)
            subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", suite, root], check=True)
            subprocess.run(["cp", "--recursive", wheels, root / "wheels"], check=True)
        elif instruction == "COPY":
            subprocess.run(["cp", *wheels.glob("tcuq*.whl"), root / "tmp"], check=True)
        elif instruction == "RUN":
            within(root, "0:0", ["/bin/sh", "-c", argument]).check_returncode()
        elif instruction == "USER":
            user = argument
    return user


def within(root: Path, user: str, line: list[str]) -> "subprocess.CompletedProcess[str]":
    """Run a command in the root with nothing of this machine's environment."""
    environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "PIP_NO_INDEX=1", "PIP_FIND_LINKS=/wheels",
                   "DEBIAN_FRONTEND=noninteractive"]  # fmt: skip
    return subprocess.run(
        ["chroot", f"--userspec={user}", str(root), "/usr/bin/env", "-i", *environment, *line],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def main() -> None:
    """Build and start; the form is the same in CI."""
    args = arguments()
    with tempfile.TemporaryDirectory() as name:
        wheels, root = Path(name) / "wheels", Path(name) / "root"
        pip = [sys.executable, "-m", "pip", "--quiet"]
        projects = [ROOT, ROOT / "fleet"]
        subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, *projects], check=True)
        built = list(wheels.iterdir())
        subprocess.run([*pip, "download", "--dest", wheels, *built], check=True)
        user = build(root, wheels)
        entry = next(argument for instruction, argument in steps() if instruction == "ENTRYPOINT")
        line = re.findall(r'"([^"]+)"', entry)
        helped = within(root, user, [*line, "--help"])
        judged = within(root, user, [*line, *AWAY])
    started = helped.returncode == 0 and "ingest" in helped.stdout
    refused = judged.returncode == 1 and judged.stderr.startswith("tcuq: the database: ")
    rows = [
        Row(
            "the Containerfile's steps in a clean Debian root, and its entry point as its user",
            "every step runs, the judge names the missing database",
            f"{len(steps())} steps, user {user}" if started and refused else judged.stderr[-200:],
            started and refused,
        )
    ]
    sys.exit(report("fleet_container", rows, ("psycopg",), write=args.write))


if __name__ == "__main__":
    main()
