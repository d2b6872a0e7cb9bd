# SPDX-License-Identifier: Apache-2.0
"""cppcheck over runtime, uplink, blobs: no finding of its own; of MISRA C what misra.toml says.

The list names each rule that is not kept, why, and how often; a rule that is not listed fails, one
that is kept again, and one more place. `--update` writes the counts anew, where there is a reason.
"""

import argparse
import re
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from tests.fixtures.firmware.toolchain import OTA, RUNTIME, UPLINK, ToolError, run

FOLDERS = (RUNTIME, UPLINK, OTA)
DEVIATIONS = Path(__file__).resolve().parent / "misra.toml"
# gcc or clang, the same for a CPU with DSP instructions, and any other compiler.
CONFIGURATIONS = (
    ("-D__GNUC__=12",),
    ("-D__GNUC__=12", "-D__ARM_FEATURE_DSP=1"),
    ("-DTCUQ_ANOTHER_COMPILER",),
)
CONTRACTS = re.compile(r"^#ifdef __FRAMAC__\n.*?^#endif\n", re.MULTILINE | re.DOTALL)
VIOLATION = re.compile(r"^(.+):(\d+):\d+:misra-c2012-([\d.]+)$", re.MULTILINE)


class Deviation(TypedDict):
    """A rule that is not kept: why, and at how many lines."""

    reason: str
    count: int


def _cppcheck(folders: Sequence[Path], options: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        output = folder / "found.txt"
        sources = _without_contracts(folders, folder)
        command: list[str | Path] = [
            "cppcheck", "--std=c99", "--quiet", f"--output-file={output}",
            f"--cppcheck-build-dir={folder}", *options, *sources,
        ]  # fmt: skip
        try:
            run(command, cwd=folder)
        except ToolError as error:
            text = output.read_text("utf-8") if output.exists() else ""
            raise ToolError(f"{error}{text}") from error
        return output.read_text("utf-8")


def _without_contracts(folders: Sequence[Path], folder: Path) -> list[Path]:
    """Return a copy of what compilers see: contracts are the prover's."""
    for path in (path for part in folders for path in part.glob("tcuq*.[ch]")):
        if not path.name.startswith("tcuq_acsl"):
            text = CONTRACTS.sub(lambda match: "\n" * match[0].count("\n"), path.read_text("utf-8"))
            (folder / path.name).write_text(text, "utf-8")
    return sorted(folder.glob("tcuq*.c"))


def violations(folders: Sequence[Path] = FOLDERS) -> dict[str, list[str]]:
    """Return the places (file:line) that break each rule."""
    places: dict[str, dict[str, None]] = {}
    for defined in CONFIGURATIONS:
        options = ("--addon=misra", "--template={file}:{line}:{column}:{id}", *defined)
        for name, line, rule in VIOLATION.findall(_cppcheck(folders, options)):
            places.setdefault(rule, {})[f"{Path(name).name}:{line}"] = None
    return {rule: list(lines) for rule, lines in places.items()}


def plain_findings(folders: Sequence[Path] = FOLDERS) -> str:
    """Return what cppcheck itself reports, empty if nothing."""
    options = ("--enable=warning,portability,performance", "--error-exitcode=1", "--max-configs=64")
    try:
        return _cppcheck(folders, options)
    except ToolError as error:
        return str(error)


def complaints(
    broken: Mapping[str, Sequence[str]], listed: Mapping[str, Deviation]
) -> Iterator[str]:
    """Yield rules for which the list and the code differ."""
    counts = Counter({rule: len(places) for rule, places in broken.items()})
    for rule in sorted({*broken, *listed}, key=_order):
        if rule not in listed:
            yield f"rule {rule} is not kept, and not in misra.toml: {', '.join(broken[rule])}"
        elif not counts[rule]:
            yield f"rule {rule} is kept now: remove it from misra.toml"
        elif counts[rule] > listed[rule]["count"]:
            places = ", ".join(broken[rule])
            yield f"rule {rule}: {counts[rule]} places, {listed[rule]['count']} listed: {places}"


def _order(rule: str) -> list[int]:
    return [int(part) for part in rule.split(".")]


def deviations() -> dict[str, Deviation]:
    """Read the listed deviations by rule."""
    listed: dict[str, Deviation] = tomllib.loads(DEVIATIONS.read_text("utf-8"))
    return listed


def update(broken: Mapping[str, Sequence[str]]) -> None:
    """Write the list again with the counts found; rules kept now go."""
    text = "# SPDX-License-Identifier: Apache-2.0\n"
    text += "# MISRA C:2012 rules the C sources do not keep, why, and at how many lines.\n"
    for rule, entry in deviations().items():
        if rule in broken:
            text += f'\n["{rule}"]\nreason = "{entry["reason"]}"\ncount = {len(broken[rule])}\n'
    DEVIATIONS.write_text(text, "utf-8")


def main() -> None:
    """Check all; fail if anything is found that is not listed, or listed and not found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the counts anew")
    args = parser.parse_args()
    broken = violations()
    if args.update:
        update(broken)
    problems = [*filter(None, [plain_findings()]), *complaints(broken, deviations())]
    places = sum(len(where) for where in broken.values())
    print("\n".join(problems) or f"cppcheck finds nothing; {places} listed deviations from MISRA")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
