# SPDX-License-Identifier: Apache-2.0
"""Experiments over several processes."""

import runpy
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest


def test_a_task_could_not_be_sent_to_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run as a module, its function is one that a fresh process can import and call."""
    monkeypatch.setattr(sys, "argv", ["benchmark.experiments", "--help"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module("benchmark.experiments", run_name="__main__")
    from benchmark.experiments.tasks import done

    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        pytest.raises(KeyError, match="no such experiment"),
    ):
        pool.submit(done, "no such experiment", "gas").result()
