# SPDX-License-Identifier: Apache-2.0
"""A real broker of our own on a free port of this machine, with or without TLS."""

import getpass
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

SECONDS = 20


class Certificates(NamedTuple):
    """Files: who signs, and what one shows."""

    ca: Path
    certificate: Path
    key: Path


class Mosquitto:
    """mosquitto, started; `lines` go into its configuration."""

    def __init__(self, folder: Path, *lines: str) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        self.config = folder / "mosquitto.conf"
        # As root it would become a user that reads no temporary folder.
        head = (f"user {getpass.getuser()}", f"listener {self.port} 127.0.0.1")
        lines = lines or ("allow_anonymous true",)
        self.config.write_text("\n".join([*head, *lines, ""]), "utf-8")
        self.start()

    def start(self) -> None:
        """Until it takes connections."""
        program = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
        self.process = subprocess.Popen(
            [program, "-c", str(self.config)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        self.kill()
        raise RuntimeError(f"mosquitto does not listen on {self.port}")

    def kill(self) -> None:
        """At once, without a farewell."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """As one stops a server."""
        self.process.terminate()
        self.process.wait()


def certified(folder: Path, name: str, ca: Certificates | None = None) -> Certificates:
    """A key and a certificate for a name, signed by an authority or, without one, by itself."""
    folder.mkdir(exist_ok=True)
    key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
    signed = [] if ca is None else ["-CA", str(ca.certificate), "-CAkey", str(ca.key)]
    host = [] if ca is None else ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", str(key),
         "-out", str(certificate), *host, *signed],
        check=True, capture_output=True,
    )  # fmt: skip
    return Certificates(ca.certificate if ca else certificate, certificate, key)
