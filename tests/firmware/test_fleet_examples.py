# SPDX-License-Identifier: Apache-2.0
"""The examples for ESP-IDF and Zephyr compile for their CPUs, and work on simulated hardware."""

import re
import subprocess
from pathlib import Path

import pytest

from tcuq.demo import demo_profile
from tcuq.firmware import export
from tests.fixtures.firmware.toolchain import ROOT, run

VENDOR = Path(__file__).parent / "vendor"
WARNINGS = ("-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror")
CPUS = {
    "esp-idf": ("riscv64-unknown-elf-gcc", "--specs=picolibc.specs", "-march=rv32imc_zicsr",
                "-mabi=ilp32", "-Os"),
    "zephyr": ("arm-none-eabi-gcc", "--specs=picolibc.specs", "-mcpu=cortex-m4", "-mthumb", "-Os"),
}  # fmt: skip
HOST = {"esp-idf": ("cc", "-O1", "-Dgettimeofday=simulated_gettimeofday"), "zephyr": ("cc", "-O1")}


def sources(target: str) -> list[Path]:
    """Return the example's C files."""
    folder = ROOT / f"examples/{target}-fleet"
    return sorted((folder / ("main" if target == "esp-idf" else "src")).glob("*.c"))


def includes(target: str, folder: Path) -> list[str]:
    """Return the folders of headers: the vendor's, declared anew, and the export's."""
    return [f"-I{VENDOR / target}", f"-I{folder / 'src'}"]


@pytest.fixture(scope="module", params=sorted(CPUS))
def target(request: pytest.FixtureRequest) -> str:
    """Return each build system in turn."""
    return str(request.param)


@pytest.fixture(scope="module")
def exported(target: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the export that the example's README asks for."""
    folder = tmp_path_factory.mktemp(target) / "firmware"
    export(demo_profile(), folder, target, uplink=True)
    return folder


@pytest.fixture(scope="module")
def device(target: str, exported: Path) -> Path:
    """Return the example built for the host with simulated hardware."""
    program = exported.parent / "device"
    files = [*sources(target), VENDOR / target / "simulated.c", *(exported / "src").glob("*.c")]
    run([*HOST[target], *WARNINGS, *includes(target, exported), *files, "-o", program])
    return program


def output(device: Path) -> tuple[list[tuple[int, int]], int]:
    """Return boots and sequences that the broker saw, and the number of flash writes."""
    done = subprocess.run(
        [device], capture_output=True, text=True, check=True, cwd=device.parent, timeout=120
    )
    pairs = re.findall(r"boot (\d+) sequence (\d+)", done.stdout)
    (writes,) = re.findall(r"writes (\d+)", done.stdout)
    return [(int(boot), int(sequence)) for boot, sequence in pairs], int(writes)


def test_the_example_compiles_for_its_cpu(target: str, exported: Path, tmp_path: Path) -> None:
    """Every warning is an error, against the vendor's declarations."""
    command: list[str | Path] = [*CPUS[target], *WARNINGS, *includes(target, exported), "-c"]
    run([*command, *sources(target)], cwd=tmp_path)


def test_hourly_records_survive_restart_sleep_and_a_late_clock(target: str, device: Path) -> None:
    """Each boot's records come in order; the last one before a restart comes once more after it.

    The simulated ESP32 ends a wake that starts the radio before NVS, netif and the event loop.
    """
    records, writes = output(device)
    if target == "zephyr":
        again, more = output(device)  # a restart
        records, writes = records + again, writes + more
    hours = 2 if target == "esp-idf" else 4  # of each boot
    first, second = ([(boot, number) for number in range(hours)] for boot in (0, 1))
    assert records == [*first, first[-1], *second]
    assert writes == len(first) + len(second)  # one for each record, whatever the clock does
