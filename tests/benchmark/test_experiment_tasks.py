# SPDX-License-Identifier: Apache-2.0
"""Experiments over several processes."""

import json
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from benchmark.experiments.cost import BUILDS, FIRMWARE
from benchmark.experiments.tasks import run_task

ROOT = Path(__file__).parents[2]


def test_a_task_could_not_be_sent_to_another_process() -> None:
    """The command runs as a module, and a fresh process can import and call its function."""
    command = [sys.executable, "-m", "benchmark.experiments", "--help"]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        pytest.raises(KeyError, match="no such experiment"),
    ):
        pool.submit(run_task, "no such experiment", "gas").result()


def test_the_firmware_budget_of_the_cost_table_had_moved() -> None:
    """The cost experiment reads the committed budget, which has the builds it names."""
    budget = json.loads(FIRMWARE.read_text("utf-8"))["m4"]
    assert set(BUILDS) <= set(budget)
