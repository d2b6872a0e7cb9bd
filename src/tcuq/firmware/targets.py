# SPDX-License-Identifier: Apache-2.0
"""Build systems: the layout, manifest and minimal program that each adds to the shared sources."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tcuq.firmware.sources import rename
from tcuq.firmware.template_values import Values, render_template

PROGRAMS = (".c", ".cpp", ".ino")


@dataclass(frozen=True, slots=True)
class Target:
    """A build system: templates by path, the files that belong to the user, how to build."""

    templates: Mapping[str, str]
    user_files: frozenset[str]
    build: str
    source_line: str = "{}"  # how its CMakeLists.txt names a source
    with_runtime: bool = True
    runtime_note: str = (
        "`src/tcuq.c` is the runtime in one file. `src/tcuq.h` begins with the parts it has. A"
        " profile next to another\nversion of the runtime does not compile."
    )

    def render(self, sources: Iterable[str], values: Values, name: str) -> dict[str, str]:
        """The target's own files by path; programs use the model of this name."""
        names = sorted(name for name in sources if name.endswith(".c"))
        lines = "\n".join(self.source_line.format(f"src/{name}") for name in names)
        values = values | {"SOURCES": lines}
        _, _, values["INPUTS"] = render_template("inputs.c", values).rstrip().partition("\n")
        files = {path: render_template(file, values) for path, file in self.templates.items()}
        return {
            path: rename(text, name) if path.endswith(PROGRAMS) else text
            for path, text in files.items()
        }


C = Target(
    {"CMakeLists.txt": "c/CMakeLists.txt", "main.c": "c/main.c"},
    frozenset({"main.c"}),
    "Run `cc -std=c99 -Isrc main.c src/*.c`, or use CMake: `cmake -B build && cmake --build"
    " build`.\nIn your own project call `add_subdirectory` and link `tcuq_device`.",
    "  {}",
)
ARDUINO = Target(
    {
        "library.properties": "arduino/library.properties",
        "examples/Minimal/Minimal.ino": "arduino/Minimal.ino",
    },
    frozenset({"examples/Minimal/Minimal.ino"}),
    "Install this folder, or a .zip of it, as a library (`arduino-cli lib install --zip-path`)"
    "\nand open the example *Minimal*. AVR boards keep constants in RAM: the profile must fit there"
    "\nbeside the state, as it does on an ATmega2560 and not on an ATmega328P.",
)
ZEPHYR = Target(
    {
        "zephyr/module.yml": "zephyr/module.yml",
        "CMakeLists.txt": "zephyr/CMakeLists.txt",
        "Kconfig": "zephyr/Kconfig",
        "samples/minimal/CMakeLists.txt": "zephyr/sample_CMakeLists.txt",
        "samples/minimal/prj.conf": "zephyr/prj.conf",
        "samples/minimal/src/main.c": "zephyr/main.c",
    },
    frozenset({"samples/minimal/src/main.c", "samples/minimal/prj.conf"}),
    "Run `west build -b <board> samples/minimal`. In your own application add this folder to"
    "\n`EXTRA_ZEPHYR_MODULES` and set `CONFIG_TCUQ_DEVICE=y`.",
    "    {}",
)
ESP_IDF = Target(
    {
        "idf_component.yml": "esp-idf/idf_component.yml",
        "CMakeLists.txt": "esp-idf/CMakeLists.txt",
        "examples/minimal/CMakeLists.txt": "esp-idf/example_CMakeLists.txt",
        "examples/minimal/main/CMakeLists.txt": "esp-idf/main_CMakeLists.txt",
        "examples/minimal/main/idf_component.yml": "esp-idf/main_idf_component.yml",
        "examples/minimal/main/main.c": "esp-idf/main.c",
    },
    frozenset({"examples/minimal/main/main.c"}),
    "Run `cd examples/minimal && idf.py set-target esp32c3 build`. In your own project name this"
    "\nfolder in the `idf_component.yml` of `main`, as the example does.",
    '    "{}"',
)
PLATFORMIO = Target(
    {
        "library.json": "platformio/library.json",
        "examples/minimal/platformio.ini": "platformio/platformio.ini",
        "examples/minimal/src/main.cpp": "arduino/Minimal.ino",
    },
    frozenset({"examples/minimal/platformio.ini", "examples/minimal/src/main.cpp"}),
    "Run `cd examples/minimal && pio run`. In your own project set"
    " `lib_deps = symlink:///path/to/this/folder`.",
)
PROFILE = Target(
    {},
    frozenset(),
    "Add the sources in `src` to your application and the runtime, package `tcuq`, to its"
    "\ndependencies: Arduino, PlatformIO, ESP-IDF, Zephyr, CMSIS-Pack or CMake.",
    with_runtime=False,
    runtime_note="Install version @VERSION@ of the package: a profile next to another version does"
    " not compile.\nDefine `TCUQ_WITH_HEALTH=0` and the like for the whole build to leave out the"
    " other parts.",
)

TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        "c": C,
        "arduino": ARDUINO,
        "zephyr": ZEPHYR,
        "esp-idf": ESP_IDF,
        "platformio": PLATFORMIO,
        "profile": PROFILE,
    }
)
