# SPDX-License-Identifier: Apache-2.0
"""Cross-compiles both C extensions with PyPI's zig, against the stable ABI of Python 3.11."""

import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNTIME, UPLINK = "src/tcuq/runtime", "src/tcuq/uplink"
EXTENSIONS = {
    "tcuq/runtime/_engine": ("src/engine", RUNTIME),
    "tcuq/fleet/simulate/_simulator": ("fleet/src/simulator", UPLINK, RUNTIME),
}
FLAGS = (
    "-std=c99", "-O3", "-DNDEBUG", "-DPy_LIMITED_API=0x030B0000", "-fvisibility=hidden",
    "-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{ROOT / RUNTIME}", f"-I{ROOT / UPLINK}",
)  # fmt: skip
FINITE = ("-fno-trapping-math", "-ffinite-math-only", "-fno-signed-zeros")  # as CMakeLists.txt
NAMES_IN_PYTHON = re.compile(rb"(?<=\0)(_?Py[A-Za-z_0-9]+)(?=\0)")


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform of the wheels: zig's name, the wheel's tag, the bytes its libraries begin with."""

    triple: str
    tag: str
    magic: bytes
    suffix: str = ".abi3.so"
    links: tuple[str, ...] = ("-s", "-shared", "-fPIC")


ELF, MACH_O, DLL = b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ"
MAC = ("-s", "-shared", "-undefined", "dynamic_lookup")
LINUX = Platform("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64", ELF)
ARM = Platform("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64", ELF)
PLATFORMS = (
    LINUX,
    ARM,
    Platform("x86_64-linux-musl", "musllinux_1_2_x86_64", ELF),
    Platform("aarch64-linux-musl", "musllinux_1_2_aarch64", ELF),
    Platform("aarch64-macos.11.0", "macosx_11_0_arm64", MACH_O, links=MAC),
    Platform("x86_64-macos.11.0", "macosx_11_0_x86_64", MACH_O, links=MAC),
    Platform("x86_64-windows-gnu", "win_amd64", DLL, ".pyd", ("-s", "-shared")),
)


class CrossError(Exception):
    """A cross compiler failed."""


def zig(*words: str | Path) -> None:
    """Run zig; CrossError with the end of its output if it fails."""
    command = [sys.executable, "-m", "ziglang", *words]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise CrossError(f"zig {' '.join(map(str, words[:3]))}: {result.stderr[-2000:]}")


def python_headers(folder: Path) -> Path:
    """Copy this Python's headers, with a pyconfig.h for every 64-bit platform."""
    headers = folder / "headers"
    shutil.copytree(sysconfig.get_path("include"), headers)
    shutil.copy2(Path(__file__).with_name("pyconfig.h"), headers)
    return headers


def compile_extensions(platform: Platform, headers: Path, folder: Path) -> dict[str, Path]:
    """Compile both extensions; returns the libraries by their paths in the wheel."""
    libraries = {}
    for name, sources in EXTENSIONS.items():
        library = folder / f"{name}{platform.suffix}"
        library.parent.mkdir(parents=True, exist_ok=True)
        files = [path for source in sources for path in sorted((ROOT / source).glob("*.c"))]
        plain = [path for path in files if path.name != "quantize.c"]
        words = ["cc", "-target", platform.triple, *FLAGS, f"-I{headers}", *platform.links]
        objects = []
        for path in set(files) - set(plain):
            objects.append(library.with_name("quantize.o"))
            pic = [word for word in platform.links if word == "-fPIC"]
            compiling = [*words[: -len(platform.links)], *pic, *FINITE]
            zig(*compiling, "-c", path, "-o", objects[-1])
        if platform.magic == DLL:
            objects.append(_import_library(folder))
        zig(*words, *plain, *objects, "-o", library)
        libraries[f"{name}{platform.suffix}"] = library
    return libraries


def _import_library(folder: Path) -> Path:
    """Make an import library of python3.dll with the names that the built extensions use."""
    built = Path(str(import_module("tcuq.runtime._engine").__file__)).parents[1]
    used = {
        name.decode()
        for path in built.rglob("_*.abi3.so")
        for name in NAMES_IN_PYTHON.findall(path.read_bytes())
    }
    definition, library = folder / "python3.def", folder / "libpython3.a"
    lines = ["LIBRARY python3.dll", "EXPORTS", *sorted(used)]
    definition.write_text("\n".join(lines) + "\n", "ascii")
    zig("dlltool", "-m", "i386:x86-64", "-D", "python3.dll", "-d", definition, "-l", library)
    return library
