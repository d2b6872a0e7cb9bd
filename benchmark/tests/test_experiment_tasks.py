# SPDX-License-Identifier: Apache-2.0
"""Experiments over several processes."""

import json
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from tcuq_benchmark.experiments import result, tasks
from tcuq_benchmark.experiments.cost import BUILDS, FIRMWARE
from tcuq_benchmark.experiments.tasks import run_task

ROOT = Path(__file__).parents[2]


def test_a_task_could_not_be_sent_to_another_process() -> None:
    """The command runs as a module, and a fresh process can import and call its function."""
    command = [sys.executable, "-m", "tcuq_benchmark.experiments", "--help"]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        pytest.raises(KeyError, match="no such experiment"),
    ):
        pool.submit(run_task, "no such experiment", "gas").result()


def test_the_firmware_budget_of_the_cost_table_had_moved() -> None:
    """The cost experiment reads the committed budget, which has the builds it names."""
    budget = json.loads(FIRMWARE.read_text("utf-8"))["m4"]
    assert set(BUILDS.values()) <= set(budget)


def test_kept_rows_stay_beside_those_that_ran_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that ran again replaces the committed one; another stays and names its commit."""
    old = {"code": "abc", "rows": [{"score": "a", "seed": 0, "x": 1}, {"score": "b", "seed": 0}]}
    output: list[result.ExperimentRow] = []

    def write(_name: str, _task: str, rows: list[result.ExperimentRow], **_: object) -> str:
        output.extend(rows)
        return "path"

    monkeypatch.setattr(result, "read_result", lambda *_: old)
    monkeypatch.setattr(tasks, "write_result", write)
    fresh = [{"score": "a", "seed": 0, "x": 2}]
    monkeypatch.setattr(tasks, "EXPERIMENTS", {"detection": lambda _task: (list(fresh), {})})
    tasks.run_task("detection", "gas", keep=True)
    assert output == [*fresh, {"run by": "abc", "score": "b", "seed": 0}]
