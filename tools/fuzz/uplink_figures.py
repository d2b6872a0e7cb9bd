# SPDX-License-Identifier: Apache-2.0
"""The uplink in the field: clocks, restarts, forgery, power cuts, fuzzing, coverage.

`--short` is CI's form: fewer days, bytes and inputs.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from results.result import Row, figure, measure
from tests.fixtures.firmware.toolchain import UPLINK, run
from tests.fixtures.uplink.device import compile_uplink
from tests.fixtures.uplink.field import CLOCKS, NETWORKS, Field
from tools.fuzz.coverage import Build
from tools.fuzz.run import save_findings
from tools.fuzz.uplink import CORPUS, campaign, harness_sources, includes
from tools.measurements.blob import flash_bytes

MOST_WRITES = 30
LEAST_BRANCHES, LEAST_CONDITIONS = 0.97, 0.90


def field_rows(folder: Path, days: int) -> Iterator[Row]:
    """Yield flash writes and records under every clock, with restarts and forged answers."""
    field = Field(compile_uplink(folder, "field", ("-O2",)))
    worst = max(
        field(clock, days, fails=fails, network=network).worst_day
        for clock in CLOCKS for fails in (False, True) for network in NETWORKS
    )  # fmt: skip
    yield Row(
        f"uplink: flash writes in the worst 24 hours, {len(CLOCKS)} clocks, flash that works or"
        f" fails, {len(NETWORKS)} networks",
        f"≤ {MOST_WRITES}", str(worst), worst <= MOST_WRITES,
    )  # fmt: skip
    sntp = field("set by SNTP after 60 s").writes
    what = "uplink: flash writes on the first day, clock set by SNTP after 60 s"
    yield Row(what, f"≤ {MOST_WRITES}", str(sntp), sntp <= MOST_WRITES)
    back = field("set back 3 years", 30)
    yield Row(
        "uplink: records in 30 days, clock set back by 3 years", "≥ 718 of 720",
        f"{back.records}", back.records >= 718,
    )  # fmt: skip
    boots = field("uptime", 30, restart_s=1800)
    yield Row(
        "uplink: records of a device that restarts every 30 minutes for 30 days, uptime clock",
        f"one per boot, {boots.restarts:,}", f"{boots.records:,}", boots.records == boots.restarts,
    )  # fmt: skip
    forged = field("uptime", days, network="forges", restart_s=86_400)
    yield Row(
        "uplink: begins that fail under a forged acknowledgement per second", "0",
        f"{forged.refused}", forged.refused == 0,
    )  # fmt: skip


def cut_rows(folder: Path, byte_step: int) -> Iterator[Row]:
    """Yield what power cuts at every write leave stored."""
    program = compile_uplink(folder, "cuts")
    for pages in (2, 3):
        writes, cuts = map(
            int, run([program, str(pages), str(byte_step), "hand"], seconds=3600).split()
        )
        yield Row(
            f"uplink, {pages} pages: power cuts at each of {writes} writes, after every"
            f" {'byte' if byte_step == 1 else f'{byte_step}th byte'}, after which all promised"
            " steps are stored once",
            f"all of {cuts:,}", f"{cuts:,}", True,
        )  # fmt: skip


def tool_rows(folder: Path, *, short: bool) -> Iterator[Row]:
    """Yield findings of the fuzzer and what its corpus covers."""
    outcome = campaign(folder, 20 if short else 7200, -1 if short else 1_000_000)
    if outcome.finding:
        print(f"{outcome.finding}\nsaved {' '.join(map(str, save_findings(folder)))}")
    broken = bool(outcome.finding)
    yield Row("uplink: findings of its fuzzer", "0", str(int(broken)), not broken)
    yield Row(
        "uplink: inputs fuzzed", "stated" if short else "≥ 1,000,000", f"{outcome.executions:,}",
        None if short else outcome.executions >= 1_000_000,
    )  # fmt: skip
    sources = sorted(UPLINK.glob("*.c"))
    coverage = Build(sources, harness_sources(), includes(UPLINK)).conditions([CORPUS])
    yield Row(
        f"uplink: branches covered by its corpus, of {coverage.branches}", "≥ 97 %",
        f"{100 * coverage.branch_share:.1f} %", coverage.branch_share >= LEAST_BRANCHES,
    )  # fmt: skip
    yield Row(
        f"uplink: MC/DC, of {coverage.conditions} conditions", "≥ 90 %",
        f"{100 * coverage.condition_share:.1f} %", coverage.condition_share >= LEAST_CONDITIONS,
    )  # fmt: skip


def rows(short: bool) -> Iterator[Row]:
    """Yield all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from field_rows(folder, 2 if short else 30)
        yield from cut_rows(folder, 16 if short else 1)
        yield from tool_rows(folder, short=short)
        size = sum(flash_bytes(folder, sorted(UPLINK.glob("*.c"))).values())
        yield figure("uplink: bytes of flash, Cortex-M4, -Os", f"{size:,}")


if __name__ == "__main__":
    measure("uplink", rows, tools=("clang-19",))
