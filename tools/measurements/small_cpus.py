# SPDX-License-Identifier: Apache-2.0
"""CPUs of other kinds beside the host: as many pseudo-random steps, every decision and state."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from results.result import Row, figure, measure
from tcuq.demo import demo_profile
from tcuq.firmware import export
from tests.fixtures.firmware.small_cpus import CPUS, on_host

STEPS = 20_000
SHORT = 5_000


def rows(short: bool) -> Iterator[Row]:
    """Yield a row per CPU: whether its text, with a hash of all decisions, is the host's."""
    steps = SHORT if short else STEPS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export(demo_profile(), folder / "export", "arduino")
        expected = on_host(folder / "export", folder, steps)
        yield figure(f"what {steps:,} pseudo-random steps print", expected)
        for cpu, text_on in CPUS.items():
            equal = text_on(folder / "export", folder, steps) == expected
            what = f"decisions and last state on {cpu}, by hash"
            yield Row(
                what, f"the host's, {steps:,} steps", "the host's" if equal else "others", equal
            )


if __name__ == "__main__":
    measure("small_cpus", rows, tools=("avr-gcc", "xtensa-lx106-elf-gcc", "powerpc-linux-gnu-gcc"))
