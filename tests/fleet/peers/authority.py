# SPDX-License-Identifier: Apache-2.0
"""Certificates, made on the spot."""

from pathlib import Path

import trustme

from tcuq.fleet.mqtt import Place
from tcuq.fleet.servers import Certificates


class Authority:
    """A certificate authority in a folder, and files of whom it knows."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self._ca = trustme.CA()
        self.ca = folder / "ca.pem"
        self._ca.cert_pem.write_to_path(str(self.ca))

    def files(self, name: str) -> Certificates:
        """Certificate and key of a name."""
        issued = self._ca.issue_cert("127.0.0.1", common_name=name)
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(str(key))
        return Certificates(self.ca, certificate, key)

    def place(self, port: int, name: str) -> Place:
        """Where the broker is for that name."""
        given = self.files(name)
        return Place("127.0.0.1", port, str(given.ca), str(given.certificate), str(given.key))
