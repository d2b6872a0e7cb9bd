# SPDX-License-Identifier: Apache-2.0
"""The fuzzer's builds: the runtime under sanitizers, in plain C and with its DSP code side by side.

On the host the DSP instructions are plain C too (dsp/arm_acle.h), and so is the inline assembly, by
replacement: the fuzzer tests the code around them, and that both builds give the same results.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from tests.fixtures.firmware.toolchain import RUNTIME, ToolError, run

HERE = Path(__file__).resolve().parent
PLAIN = ("-std=c99", "-O1", "-gline-tables-only", "-fno-omit-frame-pointer")
STRICT = ("-fno-sanitize-recover=all",)
# Without the tracing of comparisons an input runs three times as fast and reaches as much.
WATCHED = (
    *STRICT, "-fsanitize=fuzzer-no-link,address,undefined", "-fno-sanitize-coverage=trace-cmp",
    f"-fsanitize-ignorelist={HERE / 'wraps.txt'}",
)  # fmt: skip
INTEGER = "-fsanitize=integer"
DSP = (
    "-D__ARM_FEATURE_DSP=1",
    "-D__ARM_FEATURE_UNALIGNED=1",
    "-D__ARM_FEATURE_CLZ=1",
    f"-I{HERE / 'dsp'}",
)
ASSEMBLY = {
    r'__asm__\("ldrd %Q0, %R0, \[%1\], #8"\s*: "=r"\(value\), "\+r"\(\*at\)\s*: "m"[^;]*\);':
        "__builtin_memcpy(&value, *at, 8); *at = (const void *)((const char *)*at + 8);",
    r'__asm__\("sxtb16 %0, %1, ror #8" : "=r"\(halves\) : "r"\(word\)\);':
        "halves = __sxtb16(fuzz_rotate_8(word));",
    r'__asm__\("" : "\+r"\(pointer\)\)': "(void)(pointer)",
}  # fmt: skip
# Loops that have a plain C version beside them: clang takes that one.
BY_HAND = re.compile(
    r"^#(?:el)?if TCUQ_USE_ASM.*?(?=^#(?:elif|else|endif))", re.MULTILINE | re.DOTALL
)


def compile_objects(folder: Path, sources: Sequence[Path], options: Sequence[str]) -> None:
    """Compile sources to objects in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    run(["clang", *PLAIN, *options, "-c", *sources], cwd=folder)


def compile_watched(folder: Path, sources: Sequence[Path], options: Sequence[str] = ()) -> None:
    """Compile the runtime: the integer sanitizer is for it alone."""
    compile_objects(folder, sources, [*options, *WATCHED, INTEGER])


def compile_harness(folder: Path, runtime: Path, options: Sequence[str] = ()) -> None:
    """Compile the harness."""
    warnings = ("-Wall", "-Wextra", "-Werror")
    checks = (*STRICT, "-fsanitize=address,undefined")
    options = [*options, *checks, *warnings, f"-I{runtime}"]
    compile_objects(folder, sorted(HERE.glob("*.c")), options)


def link(*folders: Path) -> Path:
    """Link the objects of some folders to a fuzzer in the first."""
    fuzzer = folders[0] / "fuzzer"
    objects = [path for folder in folders for path in sorted(folder.glob("*.o"))]
    run(["clang", "-fsanitize=fuzzer,address,undefined", *objects, "-o", fuzzer])
    return fuzzer


def build(folder: Path, runtime: Path = RUNTIME, options: Sequence[str] = ()) -> Path:
    """Build the fuzzer of a runtime in plain C."""
    compile_watched(folder, sorted(runtime.glob("tcuq*.c")), options)
    compile_harness(folder, runtime, options)
    return link(folder)


def build_pair(folder: Path, runtime: Path = RUNTIME) -> Path:
    """Build the fuzzer whose first monitor runs on plain C, the second on the DSP code."""
    compile_watched(folder, sorted(runtime.glob("tcuq*.c")))
    names = _defined(sorted(folder.glob("*.o")))
    compile_harness(folder, runtime, ["-DFUZZ_PAIR"])
    sources = without_assembly(runtime, folder / "dsp_sources")
    renamed = [f"-D{name}=dsp_{name}" for name in names]
    compile_watched(folder / "dsp", sources, [*DSP, *renamed])
    return link(folder, folder / "dsp")


def without_assembly(runtime: Path, folder: Path) -> list[Path]:
    """Copy the sources with plain C in place of inline assembly."""
    folder.mkdir(parents=True)
    counts = dict.fromkeys(ASSEMBLY, 0)
    for path in sorted(runtime.glob("tcuq*.[ch]")):
        text = path.read_text("utf-8")
        for assembly, plain in ASSEMBLY.items():
            text, count = re.subn(assembly, plain, text)
            counts[assembly] += count
        if "__asm__" in BY_HAND.sub("", text):
            raise ToolError(f"{path.name} has assembly that tools/fuzz/fuzzers.py has no C for")
        (folder / path.name).write_text(text, "utf-8")
    gone = [assembly for assembly, count in counts.items() if not count]
    if gone:
        raise ToolError(
            f"the runtime no longer has {gone[0]}: bring tools/fuzz/fuzzers.py up to date"
        )
    return sorted(folder.glob("tcuq*.c"))


def _defined(objects: Sequence[Path]) -> list[str]:
    """Return the runtime's global names, which a second copy in the same program must not share."""
    listed = run(["nm", "--extern-only", "--defined-only", *objects])
    return sorted(set(re.findall(r" (tcuq_\w+)$", listed, re.MULTILINE)))
