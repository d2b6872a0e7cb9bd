# SPDX-License-Identifier: Apache-2.0
"""The keyword example works as its README says, and says what it does."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tcuq
from tests.fixtures.firmware.emulator import Steps, decide
from tests.fixtures.firmware.scenarios import Scenario
from tests.fixtures.firmware.toolchain import HERE, M4, ROOT, build

EXAMPLE = "examples/keyword-spotting"
README = (ROOT / EXAMPLE / "README.md").read_text("utf-8")
SHORT = "STEPS=60"
NUMBER = re.compile(r"[\d.]+")
# Run in the example's folder: what device and host decided, and what the network gave the monitor.
OUTPUTS = """
import numpy as np
import story, tcuq
with np.load("story.npz") as recorded:
    inputs = recorded["inputs"]
device = story.on_device()
posteriors, features = story.run_network(inputs, tcuq.Profile.load("build/monitor.json"))
np.savez("build/outputs.npz", device=device, host=story.on_host(inputs[: len(device)]),
         posteriors=posteriors, features=features)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example beside the firmware's files, as in a fresh checkout."""
    root = tmp_path_factory.mktemp("checkout")
    (root / "tests/fixtures").mkdir(parents=True)
    (root / "tests/fixtures/firmware").symlink_to(HERE)
    return Path(
        shutil.copytree(
            ROOT / EXAMPLE, root / EXAMPLE, ignore=shutil.ignore_patterns("build", "__pycache__")
        )
    )


def typed(folder: Path, line: str) -> str:
    """What a line of the README prints; a make above this one must not show in it."""
    around = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        shlex.split(line),
        cwd=folder,
        env={**around, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shown(after: str) -> str:
    """The output that the README shows behind a command."""
    block = re.search(rf"^\$ {re.escape(after)}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert block is not None, after
    return "".join(line for line in block[1].splitlines(keepends=True) if line != "...\n")


def assert_alike(text: str, wanted: str) -> None:
    """The same words; numbers may differ a little, as fits do between machines."""
    assert NUMBER.sub("#", text).split() == NUMBER.sub("#", wanted).split()
    numbers = [[float(n.rstrip(".")) for n in NUMBER.findall(t)] for t in (text, wanted)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.02, abs=1)


@pytest.fixture(scope="module")
def example(folder: Path) -> Path:
    """The example's folder, when the firmware has run a short part of the story."""
    printed = typed(folder, f"make run {SHORT}")
    wanted = shown(f"make run {SHORT}")
    assert_alike(printed.rpartition("story.py\n")[2], wanted)
    typed(folder, shlex.join([sys.executable, "-c", OUTPUTS]))
    return folder


def test_whole_network_and_monitor_decide_as_the_host_does(example: Path) -> None:
    """Sixty seconds of speech through network and monitor in one firmware."""
    with np.load(example / "build/outputs.npz") as outputs:
        assert len(outputs["device"]) == 60
        np.testing.assert_array_equal(outputs["device"], outputs["host"])


def test_monitor_decides_the_whole_story_as_the_host_does(example: Path, tmp_path: Path) -> None:
    """What the network says of the whole story, recorded, through the monitor on the CPU."""
    profile = tcuq.Profile.load(example / "build/monitor.json")
    with np.load(example / "build/outputs.npz") as outputs:
        posteriors, features = outputs["posteriors"], outputs["features"]
    steps = Steps(posteriors, features)
    scenario = Scenario("keyword", "the keyword story", profile, steps, whole=True)
    elf = build(M4, tmp_path, scenario.monitor())
    decisions = decide(M4, elf, steps)
    assert len(decisions) >= 2_000
    np.testing.assert_array_equal(decisions, scenario.expected())
    assert set(decisions["outcome"].tolist()) == {0, 1, 2}
    assert decisions["alarm"].any()


def test_story_is_the_one_the_readme_tells(example: Path) -> None:
    """The table of the README is what the monitor makes of the whole story."""
    printed = typed(example, f"{sys.executable} story.py --host")
    table, _, compared = shown("make run").rstrip().rpartition("\n")
    assert_alike(printed, table)
    assert "2,560 of 2,560 decisions" in compared  # held to by `make keyword`


def test_counts_are_those_of_the_readme(example: Path) -> None:
    """Instructions of network and monitor, and their ratios; at most a thousandth of CMSIS-NN's."""
    printed = typed(example, "make count")
    assert_alike(printed.partition("count.py\n")[2], shown("make count"))
    share = re.search(r"and (\S+)% to CMSIS-NN's", printed)
    assert share is not None
    assert float(share[1]) <= 0.1


def test_committed_files_are_small_and_attributed() -> None:
    """At most 1.5 MB in all, and both data sets' licences are named."""
    files = [p for p in (ROOT / EXAMPLE).iterdir() if p.is_file()]
    assert sum(path.stat().st_size for path in files) <= 1_500_000
    for name in ("AudioMNIST", "MIT", "Speech Commands", "CC BY 4.0", "EPL-2.0"):
        assert name in README
