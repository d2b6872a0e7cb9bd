# SPDX-License-Identifier: Apache-2.0
"""Bugs seeded in the blob loader: the fuzzer finds each within seconds."""

import shutil
from pathlib import Path

import pytest

from tests.fixtures.firmware.toolchain import OTA, replace_once
from tools.fuzz.blob import COPY, LONGEST, build, write_seeds
from tools.fuzz.run import fuzz

BUGS = {
    "a table may reach beyond the blob": ("size > tables->left", "false"),
    "more terms than there is room for": ("(profile->term_count > room->term_count) ||", ""),
}


@pytest.mark.parametrize("bug", BUGS)
def test_the_fuzzer_finds_a_seeded_bug(bug: str, tmp_path: Path) -> None:
    """The sanitizers or a broken promise end the run."""
    right, wrong = BUGS[bug]
    ota = shutil.copytree(OTA, tmp_path / "ota")
    replace_once(ota / "tcuq_blob.c", right, wrong, Path(__file__).name)
    write_seeds(tmp_path / "seeds")
    (tmp_path / "fresh").mkdir()
    fuzzer = build(tmp_path / "build", f"-U{COPY[2:]}", ota)
    corpora = [tmp_path / "fresh", tmp_path / "seeds"]
    assert fuzz(fuzzer, corpora, 30, longest=LONGEST).finding
