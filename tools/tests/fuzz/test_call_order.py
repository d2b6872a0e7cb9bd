# SPDX-License-Identifier: Apache-2.0
"""C files call each other one way."""

import graphlib
from pathlib import Path

import pytest

from tests.fixtures.firmware.toolchain import RUNTIME, UPLINK, run
from tools.fuzz.fuzzers import HERE

FOLDERS = {"runtime and uplink": (RUNTIME, UPLINK), "fuzzer": (HERE,)}


def calls(folder: Path, sources: list[Path]) -> dict[str, set[str]]:
    """Return the files whose functions and tables each file uses, by the compiler's symbols."""
    run(["gcc", "-std=c99", f"-I{RUNTIME}", "-c", *sources], cwd=folder)
    defined: dict[str, str] = {}
    used: dict[str, set[str]] = {}
    for source in sources:
        symbols = [line.split() for line in run(["nm", folder / f"{source.stem}.o"]).splitlines()]
        used[source.name] = {fields[-1] for fields in symbols if fields[-2] == "U"}
        defined |= {fields[-1]: source.name for fields in symbols if fields[-2] in "DRT"}
    return {
        name: {defined[symbol] for symbol in symbols if symbol in defined} - {name}
        for name, symbols in used.items()
    }


@pytest.mark.parametrize("folders", FOLDERS.values(), ids=list(FOLDERS))
def test_no_two_files_call_each_other(folders: tuple[Path, ...], tmp_path: Path) -> None:
    """The files can be put in an order in which each calls only those before it."""
    sources = [source for folder in folders for source in sorted(folder.glob("*.c"))]
    order = graphlib.TopologicalSorter(calls(tmp_path, sources)).static_order()
    assert sorted(order) == sorted(source.name for source in sources)
