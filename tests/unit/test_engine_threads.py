# SPDX-License-Identifier: Apache-2.0
"""An engine is used by one thread at a time, with or without a GIL."""

import threading
from contextlib import suppress
from typing import Any

import pytest

from tests.fixtures.engine import MANY_MEANS, NOVELTY, make, outputs, spec, stream


def test_threads_run_separate_engines_in_parallel() -> None:
    """An Engine in use refuses a second thread, which can run its own Engine."""
    slow = spec(**{**NOVELTY, **MANY_MEANS})
    posteriors, wide, _ = stream(slow, 10_000)
    shared, own = make(slow), make(slow)
    thread = threading.Thread(target=shared.run, args=(posteriors, wide, None, *outputs(10_000)))
    thread.start()
    with suppress(RuntimeError):
        while thread.is_alive():
            shared.telemetry()
    own.run(posteriors[:9], wide[:9], None, *outputs(9))
    step: list[Any] = [posteriors[0], wide[0], None]
    rows: list[Any] = [posteriors[:1], wide[:1]]
    calls = {"step": step, "signals": step, "quantize": rows, "run": [*rows, None, *outputs(1)]}
    others = ("reset", "reset_history", "epoch", "snapshot", "telemetry")
    for name in (*calls, *others):
        with pytest.raises(RuntimeError, match="this monitor is in use by another thread"):
            getattr(shared, name)(*calls.get(name, []))
    assert thread.is_alive()
    thread.join()
    assert (shared.telemetry()["steps"], own.telemetry()["steps"]) == (10_000, 9)


def test_two_threads_never_share_an_engine() -> None:
    """Threads that use one Engine get an answer or an error; all steps taken are counted."""
    small = spec()
    posteriors, wide, _ = stream(small, 64)
    shared = make(small)
    taken = [0, 0, 0, 0]

    def work(thread: int) -> None:
        for turn in range(3000):
            with suppress(RuntimeError):
                shared.step(posteriors[turn % 64], wide[turn % 64], None)
                taken[thread] += 1
            with suppress(RuntimeError):
                shared.snapshot()

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.telemetry()["steps"] == sum(taken) > 0
