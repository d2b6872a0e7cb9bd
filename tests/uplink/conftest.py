# SPDX-License-Identifier: Apache-2.0
"""The uplink, compiled once: under remote control, and in a simulated field."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.uplink.device import Uplink, compile_uplink
from tests.fixtures.uplink.field import Field


@pytest.fixture(scope="session")
def uplink_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the device under remote control, with sanitizers."""
    return compile_uplink(tmp_path_factory.mktemp("uplink"), "device")


@pytest.fixture(scope="module")
def uplink(uplink_program: Path) -> Iterator[Uplink]:
    """Start a process for all tests that begin with init."""
    process = Uplink(uplink_program)
    yield process
    process.stop()


@pytest.fixture(scope="session")
def field(tmp_path_factory: pytest.TempPathFactory) -> Field:
    """Compile the device in the field; without sanitizers, as it runs for millions of calls."""
    return Field(compile_uplink(tmp_path_factory.mktemp("field"), "field", ("-O2",)))
