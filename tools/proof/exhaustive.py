# SPDX-License-Identifier: Apache-2.0
"""Functions of one number, run on every input under clang's integer sanitizers: a proof by cases.

A sum, product or shift that leaves its type, or an index outside a table, ends the run. Casts that
are written out are not seen, so conditions compare with the same computed in 64 bits.
"""

import subprocess
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.fixtures.firmware.toolchain import RUNTIME, run
from tools.proof.lemma import Tried, check_all

SHORT = 65_521  # a stride that is prime, so that all low bits vary
SECONDS = 1800
CHECKS = "signed-integer-overflow,unsigned-integer-overflow,shift,unsigned-shift-base,array-bounds"
# The plain C, on hosts too that have an instruction for it. What is not called goes, so that it
# needs no other sources.
COMPILE = ("clang", "-std=gnu11", "-O2", "-U__ARM_FEATURE_CLZ", f"-fsanitize={CHECKS}",
           "-fsanitize-trap=all", "-ffunction-sections", "-Wl,--gc-sections")  # fmt: skip
INCLUDED = ("tcuq_tables.c", "tcuq_math.c")  # not linked: calls inline
WIDE = """
static int64_t log2_wide(uint64_t x)
{
    const int64_t zeros = __builtin_clz((uint32_t)x);
    const uint64_t mantissa = x << zeros;
    const int64_t index = (mantissa >> 26) & 31;
    const int64_t fraction = (mantissa >> 16) & 1023;
    const int64_t low = tcuq_log2_q15[index];
    const int64_t high = tcuq_log2_q15[index + 1];
    return (31 - zeros) * 1024 + (low * 1024 + (high - low) * fraction) / 32768;
}

static int64_t rsqrt_wide(uint64_t x)
{
    const int64_t value = x >> 14;
    int64_t root = tcuq_rsqrt_seed[value / 2048 - 8] * (int64_t)128;
    for (int turn = 0; turn < 2; turn++) {
        const int64_t square = root * root / 32768;
        root = root * (3 * 16384 - value * square / 32768) / 32768;
    }
    return root;
}
"""
MAIN = """
static int holds(uint32_t x)
{{
    const int64_t r = {name}(x);
    return {condition};
}}

int main(void)
{{
    for (uint64_t at = {first}u; at <= {last}u; at += {stride}u) {{
        if (!holds((uint32_t)at)) {{
            return 1;
        }}
    }}
    return holds({last}u) ? 0 : 1;
}}
"""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of one number, its inputs, and what C says of input `x` and result `r`."""

    name: str
    first: int
    last: int
    condition: str

    @property
    def statement(self) -> str:
        """The name that otherwise.toml has for it."""
        return f"every input of {self.name}"

    def holds(self, stride: int = 1) -> bool:
        """Return whether it holds for every input, in range; ToolError if it is no C."""
        main = MAIN.format(name=self.name, condition=self.condition,
                           first=self.first, last=self.last, stride=stride)  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            source, program = Path(folder) / "every.c", Path(folder) / "every"
            source.write_text("".join(f'#include "{n}"\n' for n in INCLUDED) + WIDE + main, "utf-8")
            run([*COMPILE, f"-I{RUNTIME}", source, "-o", program])
            return subprocess.run([program], check=False, timeout=SECONDS).returncode == 0


def functions() -> tuple[Function, ...]:
    """Return the functions with the inputs and results of their contracts."""
    top = 2**32 - 1
    return (
        Function(
            "tcuq_leading_zeros", 1, top,
            "r <= 31 && ((uint64_t)x << r) >= 0x80000000u && ((uint64_t)x << r) <= UINT32_MAX",
        ),
        Function(
            "tcuq_log2_q10", 1, top,
            "0 <= r && r <= 32767 && (x < 0x80000000u || r >= 31744) && r == log2_wide(x)"
            " && (x == 1 || r >= log2_wide(x - 1u))",
        ),
        Function("tcuq_rsqrt_q14", 0x10000000, 0x3FFFFFFF,
                 "16384 <= r && r <= 32768 && r == rsqrt_wide(x)"),
    )  # fmt: skip


def exhaustive(named: Collection[str], stride: int = 1) -> Iterator[Tried]:
    """Yield the statements of these names; with a stride they are checks, not proofs."""
    for function in functions():
        if function.statement in named:
            yield Tried(function.statement, partial(function.holds, stride))


if __name__ == "__main__":
    check_all(exhaustive({function.statement for function in functions()}))
