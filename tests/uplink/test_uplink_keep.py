# SPDX-License-Identifier: Apache-2.0
"""The keeper: copies of the uplink and the monitor in flash, by two functions of the caller's."""

from pathlib import Path

import pytest

from tests.fixtures.effort import SHORT
from tests.fixtures.firmware.toolchain import run
from tests.fixtures.uplink.device import compile_uplink

RULES = {
    "newest_page_is_restored": "Whichever page holds it, with the monitor's state beside it.",
    "record_carries_the_firmware": "A record has the keeper's firmware and the uplink's device.",
    "damaged_monitor_keeps_the_uplink": "The uplink is restored, the monitor from the copy before.",
    "foreign_monitor_keeps_the_uplink": "A new profile starts its monitor anew, not the uplink.",
    "unreadable_page_is_left_out": "Half a page and `false` are not restored; the others are.",
    "failed_write_sends_nothing_and_is_repeated": "The next write goes to the same page.",
    "full_row_is_still_written": "Without a slot for a new record, what waits is written.",
    "wrong_keepers_are_refused": "A null or a small buffer changes nothing and reads nothing.",
    "grown_monitor_is_not_written": "A monitor beyond the buffer is refused, nothing is sent.",
}


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the keeper's program, with sanitizers."""
    return compile_uplink(tmp_path_factory.mktemp("keeper"), "keeper")


@pytest.mark.parametrize("rule", RULES)
def test_the_keeper_follows_its_rules(rule: str, keeper: Path) -> None:
    """The program ends without an error: each rule is checked there, as RULES says."""
    run([keeper, rule])


@pytest.mark.parametrize("pages", [2, 3])
def test_a_power_cut_at_every_write_of_a_keeper_loses_nothing(pages: int, tmp_path: Path) -> None:
    """As by hand, also where the uplink's copy is whole and the monitor's is not."""
    program, step = compile_uplink(tmp_path, "cuts"), 64 if SHORT else 16
    writes, cuts = map(int, run([program, str(pages), str(step), "keeper"]).split())
    assert writes >= 20
    assert cuts >= 4 * (320 // step) * writes
