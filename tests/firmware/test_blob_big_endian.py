# SPDX-License-Identifier: Apache-2.0
"""The same blob on a little-endian and on a big-endian CPU: both decide as the host."""

from pathlib import Path

import pytest

from tcuq.demo import demo_profile
from tcuq.firmware import export, profile_blob
from tests.fixtures.firmware.toolchain import HERE, run


@pytest.mark.parametrize(
    ("compiler", "emulator", "output"),
    [("gcc", (), "1 0 0\n"), ("powerpc-linux-gnu-gcc", ("qemu-ppc",), "0 0 0\n")],
)
def test_a_blob_passes_its_self_test_in_either_byte_order(
    compiler: str, emulator: tuple[str, ...], output: str, tmp_path: Path
) -> None:
    """Little-endian CPUs read tables in place, others copy them; the self-test passes on both."""
    export(demo_profile(), tmp_path, "c", ota=True)
    blob, program = tmp_path / "new.blob", tmp_path / "program"
    blob.write_bytes(profile_blob(demo_profile(), number=1, key=bytes([7] * 32)))
    sources = [Path(__file__).with_name("blob_once.c"), HERE / "hmac_sha256.c"]
    folders = [f"-I{tmp_path / 'src'}", f"-I{HERE}"]
    run(
        [compiler, "-static", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", *folders, *sources,
         *sorted((tmp_path / "src").glob("*.c")), "-o", program]
    )  # fmt: skip
    assert run([*emulator, program, blob]) == output
