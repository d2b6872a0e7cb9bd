# SPDX-License-Identifier: Apache-2.0
"""The workflows' steps as a plain list, and a clean place in which their commands run.

`act` needs a container engine. Here a job with a container gets a fresh Debian root, any other one
an empty environment; both get a clone that, as on the platform, a container's user does not own.
"""

import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from results.result import today
from tcuq.version import __version__
from tools.packaging.build import ROOT
from tools.packaging.pythons import Interpreter, uv

FOLDER = ROOT / ".github/workflows"
REASONS = Path(__file__).with_name("not_run.toml")
MATRIX = re.compile(r"\$\{\{ *matrix\.(\w+) *\}\}")
RUNNER = 1001  # the user that owns a checkout on the platform
# Where this machine finds packages and certificates; a runner has them without a setting.
FORWARDED = re.compile(r"PIP_|SSL_|NODE_EXTRA|REQUESTS_|CURL_|UV_|TCUQ_SHORT$|.*_(?:proxy|PROXY)$")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a command, or an action in `uses`."""

    run: str
    uses: str
    folder: str
    env: dict[str, str]


@dataclass(frozen=True, slots=True)
class Job:
    """A job for one combination of its matrix."""

    workflow: str
    name: str
    matrix: dict[str, str]
    system: str
    container: str
    steps: tuple[Step, ...]

    @property
    def title(self) -> str:
        """The job as results and reasons name it."""
        values = " ".join(self.matrix.values())
        return f"{self.workflow} / {self.name}" + (f" / {values}" if values else "")


def jobs() -> Iterator[Job]:
    """Yield every job of every workflow, one per combination of its matrix."""
    for path in sorted(FOLDER.glob("*.yml")):
        document = yaml.safe_load(path.read_text("utf-8"))
        for name, job in document["jobs"].items():
            axes = job.get("strategy", {}).get("matrix", {})
            for values in itertools.product(*axes.values()):
                matrix = dict(zip(axes, map(str, values), strict=True))
                yield _job(path.stem, name, job, matrix, document.get("env", {}))


def _job(
    workflow: str, name: str, job: dict[str, Any], matrix: dict[str, str], env: dict[str, str]
) -> Job:
    def filled(text: object) -> str:
        return MATRIX.sub(lambda match: matrix[match[1]], str(text))

    steps = tuple(
        Step(
            filled(step.get("run", "")).strip(),
            step.get("uses", ""),
            step.get("working-directory", "."),
            {key: filled(value) for key, value in {**env, **step.get("env", {})}.items()},
        )
        for step in job["steps"]
    )
    system, container = filled(job["runs-on"]), job.get("container", "")
    return Job(workflow, name, matrix, system, container, steps)


def reason(title: str) -> str | None:
    """Return why a job or a command is not run here, by the first words of its name."""
    listed: dict[str, str] = tomllib.loads(REASONS.read_text("utf-8"))
    reasons = [why for start, why in listed.items() if title.startswith(start)]
    return reasons[-1] if reasons else None


class Place:
    """Where the commands of one job run: a clone, an environment, and perhaps a root."""

    def __init__(self, job: Job, folder: Path, interpreter: Interpreter | None) -> None:
        self._root = interpreter.root if interpreter is not None else None
        self._path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        if job.container:
            self._root = folder / "root"
            suite = job.container.partition(":")[2]
            make = ["mmdebstrap", "--quiet", "--variant=minbase", "--include=ca-certificates"]
            subprocess.run([*make, suite, str(self._root)], check=True)
        if self._root is not None:
            certificates = self._root / CERTIFICATES.relative_to("/")
            certificates.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CERTIFICATES, certificates)
            shutil.copy("/etc/resolv.conf", self._root / "etc/resolv.conf")
        self._checkout = (self._root or folder) / "checkout"
        shutil.rmtree(self._checkout, ignore_errors=True)  # of an earlier job in the same root
        clone = ["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(self._checkout)]
        subprocess.run(clone, check=True)
        if job.workflow == "release":  # whose commit has a dated changelog
            changelog = self._checkout / "CHANGELOG.md"
            text = changelog.read_text("utf-8").replace("- unreleased", f"- {today()}", 1)
            changelog.write_text(text, "utf-8")
        if job.container:
            subprocess.run(
                ["chown", "--recursive", f"{RUNNER}:{RUNNER}", self._checkout], check=True
            )
        else:
            self._add_python(interpreter, folder)

    def _add_python(self, interpreter: Interpreter | None, folder: Path) -> None:
        """Make an empty environment of this interpreter and put it first on the path."""
        python = sys.executable if interpreter is None else str(interpreter.executable)
        if self._root is not None:
            make = ["chroot", str(self._root), python, "-m", "venv", "--clear", "/python"]
            subprocess.run(make, check=True)
            self._path = f"/python/bin:{self._path}"
            return
        environment = folder / "python"
        subprocess.run(
            [*uv(), "venv", "--quiet", "--seed", "--python", python, environment], check=True
        )
        pip = [*uv(), "pip", "install", "--quiet", "--python", str(environment)]
        subprocess.run([*pip, "pipx"], check=True)  # runners' images carry it
        self._path = f"{environment}/bin:{self._path}"

    def run(self, step: Step) -> subprocess.CompletedProcess[str]:
        """Run a command as the platform does, with nothing else of this machine's environment."""
        inside = "/checkout" if self._root is not None else str(self._checkout)
        forwarded = {name: value for name, value in os.environ.items() if FORWARDED.match(name)}
        home = self._checkout.with_name("home")
        home.mkdir(exist_ok=True)
        env = {
            **forwarded, "PATH": self._path, "CI": "true", "GITHUB_WORKSPACE": inside,
            "GITHUB_REF_NAME": f"v{__version__}",
            "HOME": "/home" if self._root is not None else str(home), "LANG": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive", **step.env,
        }  # fmt: skip
        script = f"cd {inside}/{step.folder}\n{step.run}"
        command = ["bash", "-e", "-o", "pipefail", "-c", script]
        if self._root is not None:
            mounts = "".join(
                f"mkdir -p {at} && mount --rbind /{name} {at} && "
                for name in ("proc", "dev", "sys")
                for at in [self._root / name]
            )
            enter = f'{mounts}exec chroot {self._root} "$@"'
            command = ["unshare", "--mount", "sh", "-c", enter, "sh", *command]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)
