# SPDX-License-Identifier: Apache-2.0
"""The runtime compiled once for the tests that need no options of their own."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.fixtures.firmware.toolchain import M4, compile_runtime


@pytest.fixture(scope="session")
def runtime_of_m4(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Path]:
    """Objects of the whole runtime, for the Cortex-M4."""
    return compile_runtime(M4, tmp_path_factory.mktemp("runtime"), "-O2")
