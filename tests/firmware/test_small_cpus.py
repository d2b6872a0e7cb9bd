# SPDX-License-Identifier: Apache-2.0
"""CPUs beyond the measured ones decide alike: AVR (16-bit int), Xtensa, PowerPC (big-endian)."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tcuq.demo import demo_profile
from tcuq.firmware import export, hmac_signer, profile_blob
from tests.fixtures.firmware.arduino import printed, self_test_of_sketch
from tests.fixtures.firmware.toolchain import HERE, run

BARE = Path(__file__).parent / "bare"
WARNINGS = ("-std=gnu99", "-Wall", "-Wextra", "-Wconversion", "-Werror")
SECTIONS = ("-Os", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
AVR = ("-mmcu=atmega1284p", *SECTIONS)
# The flags are those of the ESP8266 core's platform.txt.
XTENSA = ("-mlongcalls", "-mtext-section-literals", "-falign-functions=4", "-ffreestanding",
          "-nostdlib", "-Wl,--no-warn-rwx-segments", *SECTIONS)  # fmt: skip
SIMAVR = ("simavr", "-m", "atmega1284p", "-f", "16000000")
QEMU = ("qemu-system-xtensa", "-M", "sim", "-cpu", "lx106", "-nographic", "-monitor", "none",
        "-semihosting", "-kernel")  # fmt: skip
LONG_RUN = r"abstained \w{8} alarms \w{8} hash \w{8}"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Arduino export of the demo's profile."""
    folder = tmp_path_factory.mktemp("export") / "tcuq_device"
    export(demo_profile(), folder, "arduino")
    return folder


@pytest.fixture(scope="module")
def host_text(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what the long run prints on the host."""
    program = tmp_path_factory.mktemp("host") / "long_run"
    build(["cc", "-O2"], exported, [BARE / "host.c"], program)
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def build(compiler: Sequence[str], folder: Path, more: Sequence[Path | str], program: Path) -> None:
    """Compile the export with the long run; a warning is an error."""
    sources = [BARE / "long_run.c", *sorted((folder / "src").glob("*.c")), *more]
    run([*compiler, *WARNINGS, f"-I{folder / 'src'}", *sources, "-o", program])


def test_the_long_run_abstains_and_alarms(host_text: str) -> None:
    """The steps reach every part of the monitor, else equal text would say little."""
    numbers = dict(zip(host_text.split()[::2], host_text.split()[1::2], strict=True))
    assert int(numbers["abstained"], 16) > 100
    assert int(numbers["alarms"], 16) > 0


def test_avr_decides_as_the_host(exported: Path, host_text: str, tmp_path: Path) -> None:
    """With int of 16 bits, 2,000 decisions and the last state are the host's."""
    build(["avr-gcc", *AVR], exported, [BARE / "avr.c"], tmp_path / "avr.elf")
    text = printed([*SIMAVR, tmp_path / "avr.elf"], LONG_RUN, tmp_path / "log")
    assert text == host_text.strip()


def test_xtensa_decides_as_the_host(exported: Path, host_text: str, tmp_path: Path) -> None:
    """On the ESP8266's CPU 2,000 decisions and the last state are the host's."""
    more: list[Path | str] = [
        BARE / "xtensa.c",
        HERE / "library.c",
        "-T",
        BARE / "xtensa.ld",
        "-lgcc",
    ]
    build(["xtensa-lx106-elf-gcc", *XTENSA], exported, more, tmp_path / "xtensa.elf")
    text = printed([*QEMU, tmp_path / "xtensa.elf"], LONG_RUN, tmp_path / "log")
    assert text == host_text.strip()


def test_powerpc_decides_as_the_host(exported: Path, host_text: str, tmp_path: Path) -> None:
    """With the most significant byte first, 2,000 decisions and the last state are the host's."""
    program = tmp_path / "powerpc"
    build(["powerpc-linux-gnu-gcc", "-O2", "-static"], exported, [BARE / "host.c"], program)
    assert run(["qemu-ppc", program]) == host_text


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
