# SPDX-License-Identifier: Apache-2.0
"""What each build system wants beside the shared sources: layout, manifest, minimal program."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tcuq.export.sources import Facts, filled


@dataclass(frozen=True, slots=True)
class Layout:
    """Files of an export by path, and those of them that are the user's to change."""

    files: dict[str, str]
    yours: frozenset[str]


def _listed(sources: Mapping[str, str], quoted: str = "", indent: int = 2) -> str:
    names = sorted(name for name in sources if name.endswith(".c"))
    return "\n".join(f"{' ' * indent}{quoted}src/{name}{quoted}" for name in names)


def _c(sources: Mapping[str, str], facts: Facts) -> Layout:
    facts["SOURCES"] = _listed(sources)
    facts["BUILD"] = (
        "`cc -std=c99 -Isrc main.c src/*.c`, or CMake: `cmake -B build && cmake --build build`;"
        "\nfrom a project of yours `add_subdirectory` and link `tcuq_device`."
    )
    own = {"CMakeLists.txt": "c/CMakeLists.txt", "main.c": "c/main.c"}
    return _layout(own, {"main.c"}, facts)


def _arduino(_sources: Mapping[str, str], facts: Facts) -> Layout:
    facts["BUILD"] = (
        "Put this folder, or a .zip of it, among the IDE's libraries"
        " (`arduino-cli lib install --zip-path`)\nand open the example *Minimal*."
    )
    own = {
        "library.properties": "arduino/library.properties",
        "examples/Minimal/Minimal.ino": "arduino/Minimal.ino",
    }
    return _layout(own, {"examples/Minimal/Minimal.ino"}, facts)


def _zephyr(sources: Mapping[str, str], facts: Facts) -> Layout:
    facts["SOURCES"] = _listed(sources, indent=4)
    facts["BUILD"] = (
        "`west build -b <board> samples/minimal`; in an application of yours add this folder to"
        "\n`EXTRA_ZEPHYR_MODULES` and set `CONFIG_TCUQ_DEVICE=y`."
    )
    own = {
        "zephyr/module.yml": "zephyr/module.yml",
        "CMakeLists.txt": "zephyr/CMakeLists.txt",
        "Kconfig": "zephyr/Kconfig",
        "samples/minimal/CMakeLists.txt": "zephyr/sample_CMakeLists.txt",
        "samples/minimal/prj.conf": "zephyr/prj.conf",
        "samples/minimal/src/main.c": "zephyr/main.c",
    }
    return _layout(own, {"samples/minimal/src/main.c", "samples/minimal/prj.conf"}, facts)


def _esp_idf(sources: Mapping[str, str], facts: Facts) -> Layout:
    facts["SOURCES"] = _listed(sources, '"', 4)
    facts["BUILD"] = (
        "`cd examples/minimal && idf.py set-target esp32c3 build`; in a project of yours name this"
        "\nfolder in the `idf_component.yml` of `main`, as the example does."
    )
    own = {
        "idf_component.yml": "esp-idf/idf_component.yml",
        "CMakeLists.txt": "esp-idf/CMakeLists.txt",
        "examples/minimal/CMakeLists.txt": "esp-idf/example_CMakeLists.txt",
        "examples/minimal/main/CMakeLists.txt": "esp-idf/main_CMakeLists.txt",
        "examples/minimal/main/idf_component.yml": "esp-idf/main_idf_component.yml",
        "examples/minimal/main/main.c": "esp-idf/main.c",
    }
    return _layout(own, {"examples/minimal/main/main.c"}, facts)


def _platformio(_sources: Mapping[str, str], facts: Facts) -> Layout:
    facts["BUILD"] = (
        "`cd examples/minimal && pio run`; in a project of yours"
        " `lib_deps = symlink:///path/to/this/folder`."
    )
    own = {
        "library.json": "platformio/library.json",
        "examples/minimal/platformio.ini": "platformio/platformio.ini",
    }
    layout = _layout(own, {"examples/minimal/platformio.ini"}, facts)
    # The sketch as C++: PlatformIO takes it so, and Arduino.h must be named then.
    first, rest = filled("arduino/Minimal.ino", facts).split("#include", 1)
    program = f"{first}#include <Arduino.h>\n#include{rest}"
    name = "examples/minimal/src/main.cpp"
    return Layout({**layout.files, name: program}, layout.yours | {name})


def _layout(own: Mapping[str, str], yours: set[str], facts: Facts) -> Layout:
    return Layout({path: filled(name, facts) for path, name in own.items()}, frozenset(yours))


TARGETS: Mapping[str, Callable[[Mapping[str, str], Facts], Layout]] = MappingProxyType(
    {
        "c": _c,
        "arduino": _arduino,
        "zephyr": _zephyr,
        "esp-idf": _esp_idf,
        "platformio": _platformio,
    }
)
