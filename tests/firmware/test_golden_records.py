# SPDX-License-Identifier: Apache-2.0
"""Golden records on emulated CPUs."""

from pathlib import Path

import pytest

from tests.fixtures.firmware.golden import encoded_on, golden
from tests.fixtures.firmware.toolchain import CPUS, Cpu


@pytest.mark.parametrize("cpu", CPUS, ids=lambda cpu: cpu.name)
def test_every_cpu_encodes_the_same_bytes(cpu: Cpu, tmp_path: Path) -> None:
    """Every golden record and signed acknowledgement, byte for byte, key derivation included."""
    encoded = encoded_on(cpu, tmp_path)
    expected = golden()["records"]
    assert [record.version_1.hex() for record in encoded] == [r["version_1"] for r in expected]
    assert [record.version_2.hex() for record in encoded] == [r["version_2"] for r in expected]
    assert [record.signed_ack.hex() for record in encoded] == [r["signed_ack"] for r in expected]
