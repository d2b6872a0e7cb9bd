# SPDX-License-Identifier: Apache-2.0
"""The device's C, compiled for the host, encodes the golden records."""

from pathlib import Path

from tests.fixtures.firmware.golden import encoded_on_host, golden

RECORDS = golden()["records"]


def test_the_host_encodes_the_same_bytes(tmp_path: Path) -> None:
    """Runtime, uplink and HMAC in C, compiled for the host, encode the golden bytes."""
    encoded = encoded_on_host(tmp_path)
    assert [record.version_1.hex() for record in encoded] == [r["version_1"] for r in RECORDS]
    assert [record.version_2.hex() for record in encoded] == [r["version_2"] for r in RECORDS]
    assert [record.signed_ack.hex() for record in encoded] == [r["signed_ack"] for r in RECORDS]
