# SPDX-License-Identifier: Apache-2.0
"""The supported CPUs with their compiler flags, and some microcontrollers that have them."""

from dataclasses import dataclass

KIB = 1024


@dataclass(frozen=True, slots=True)
class Cpu:
    """A CPU and its cross compilers: GCC by its prefix, and the package `ziglang`."""

    name: str
    prefix: str
    flags: tuple[str, ...]
    zig_flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A microcontroller with its flash and RAM in bytes."""

    name: str
    cpu: str
    flash: int
    ram: int


def _cortex(name: str) -> Cpu:
    flags = (f"-mcpu={name}", "-mthumb", "-mfloat-abi=soft")
    zig_flags = ("-target", "thumb-freestanding-eabi", f"-mcpu={name.replace('-', '_')}")
    return Cpu(name, "arm-none-eabi-", flags, zig_flags)


CPUS = {
    cpu.name: cpu
    for cpu in (
        *(_cortex(f"cortex-m{number}") for number in (0, 3, 4, 7)),
        Cpu("rv32imc", "riscv64-unknown-elf-",
            ("-march=rv32imc", "-mabi=ilp32", "-mcmodel=medany", "-msmall-data-limit=0"),
            ("-target", "riscv32-freestanding-none", "-mcpu=generic_rv32+m+c")),
    )
}  # fmt: skip

# Sizes from the manufacturers' data sheets; external flash is that of the usual board.
PARTS = {
    part.name.lower(): part
    for part in (
        Part("nRF51822", "cortex-m0", 256 * KIB, 16 * KIB),
        Part("nRF52840", "cortex-m4", 1024 * KIB, 256 * KIB),
        Part("RP2040", "cortex-m0", 2048 * KIB, 264 * KIB),
        Part("STM32F767ZI", "cortex-m7", 2048 * KIB, 512 * KIB),
        Part("STM32L432KC", "cortex-m4", 256 * KIB, 64 * KIB),
        Part("ESP32-C3", "rv32imc", 4096 * KIB, 400 * KIB),
    )
}
