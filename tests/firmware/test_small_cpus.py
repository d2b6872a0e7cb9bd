# SPDX-License-Identifier: Apache-2.0
"""CPUs beyond the measured ones decide alike: AVR (16-bit int), Xtensa, PowerPC (big-endian)."""

from pathlib import Path

import pytest

from tcuq.demo import demo_profile
from tcuq.firmware import export, hmac_signer, profile_blob
from tests.fixtures.firmware.arduino import self_test_of_sketch
from tests.fixtures.firmware.small_cpus import CPUS, STEPS, on_host
from tests.fixtures.firmware.toolchain import HERE, run


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Arduino export of the demo's profile."""
    folder = tmp_path_factory.mktemp("export") / "tcuq_device"
    export(demo_profile(), folder, "arduino")
    return folder


@pytest.fixture(scope="module")
def host_text(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what the long run prints on the host."""
    return on_host(exported, tmp_path_factory.mktemp("host"), STEPS)


def test_the_long_run_abstains_and_alarms(host_text: str) -> None:
    """The steps reach every part of the monitor, else equal text would say little."""
    numbers = dict(zip(host_text.split()[::2], host_text.split()[1::2], strict=True))
    assert int(numbers["abstained"], 16) > 100
    assert int(numbers["alarms"], 16) > 0


@pytest.mark.parametrize("cpu", CPUS)
def test_a_small_cpu_decides_as_the_host(
    cpu: str, exported: Path, host_text: str, tmp_path: Path
) -> None:
    """2,000 decisions and the last state are the host's."""
    assert CPUS[cpu](exported, tmp_path, STEPS) == host_text


def test_the_arduino_build_passes_the_self_test_on_avr(exported: Path, tmp_path: Path) -> None:
    """The Arduino builder's own build for an ATmega2560 passes the self-test in an emulator."""
    assert self_test_of_sketch(exported, tmp_path) == "self-test 0"


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
    signer = hmac_signer(bytes([7] * 32))
    blob.write_bytes(profile_blob(demo_profile(), number=1, signer=signer))
    sources = [Path(__file__).with_name("blob_once.c"), HERE / "hmac_sha256.c"]
    folders = [f"-I{tmp_path / 'src'}", f"-I{HERE}"]
    run(
        [compiler, "-static", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", *folders, *sources,
         *sorted((tmp_path / "src").glob("*.c")), "-o", program]
    )  # fmt: skip
    assert run([*emulator, program, blob]) == output
