# SPDX-License-Identifier: Apache-2.0
"""Measures of marked shifts: ranking by novelty, detection delay, late and false alarms."""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from tcuq.evaluation import measures as m
from tcuq.evaluation.bootstrap import Interval, too_few
from tcuq.evaluation.run import EvaluatedRun, Floats, Measure

MILLION = 1e6


def shift_measures(run: EvaluatedRun) -> Iterator[Measure]:
    """Whether shifted steps have a higher novelty, and how soon the alarm is raised."""
    right = run.known & ~run.wrong & ~run.shifted
    if right.any():
        at = np.flatnonzero(right | run.shifted)
        words = ("shifted steps", "unshifted steps with a correct prediction")
        by = run.trace.novelty if run.profile.novelty else run.trace.risk
        yield from run.ranking("shift", run.shifted, at, words, by)
    if run.profile.alarm is None:
        return
    delays = m.detection_delays(run.trace.alarm > 0, run.shifted)
    detected = f"{np.isfinite(delays).sum()} of {len(delays)} shifts were detected{_causes(run)}"
    yield Measure(
        "detection delay",
        float(np.median(delays)),
        _interval(run, delays),
        {"always": 1.0, "never": math.inf},
        f"median steps from a shift's onset to its first alarm; {detected}",
    )
    yield Measure(
        "shifts missed",
        float(np.isinf(delays).mean()),
        _interval(run, np.isinf(delays).astype(float), mean=True),
        {"always": 0.0, "never": 1.0},
    )


def _causes(run: EvaluatedRun) -> str:
    """The causes of alarms during shifts, the most frequent first."""
    counts = Counter(cause for step, cause in run.trace.alarms.items() if run.shifted[step])
    listed = ", ".join(f"{cause} ({count:,})" for cause, count in counts.most_common())
    return f"; alarms during shifts: {listed}" if listed else ""


def alarm_measures(run: EvaluatedRun) -> Iterator[Measure]:
    """Alarms outside shifted steps: late ones, right after a shift, and false ones."""
    settings = run.profile.alarm
    if settings is None:
        return
    alarm = run.trace.alarm > 0
    block = max(channel.block for channel in settings.channels)
    after = m.steps_after_shift(run.shifted, block)
    if run.shifted.any():
        late = int((alarm & after).sum())
        yield Measure(
            "late alarms",
            float(late),
            Interval(*m.poisson_interval(late)),
            {"always": float(after.sum()), "never": 0.0},
            f"within {block} steps, the longest block, after a shift ended; not false alarms",
        )
    unshifted = ~run.shifted & ~after
    if not unshifted.any():
        return
    count, steps = int((alarm & unshifted).sum()), int(unshifted.sum())
    low, high = m.poisson_interval(count)
    promised = MILLION / settings.steps_per_false_alarm
    yield Measure(
        "false alarms per million",
        count * MILLION / steps,
        Interval(low * MILLION / steps, high * MILLION / steps),
        {"always": MILLION, "never": 0.0},
        f"{count} in {steps:,} steps; promised at most {promised:.3g} per million",
    )


def _interval(run: EvaluatedRun, values: Floats, *, mean: bool = False) -> Interval:
    """Resample the shifts; percentiles are observed values, because a delay may be infinite."""
    reason = too_few({"shifts": len(values)})
    if run.rounds == 0:
        reason = "no bootstrap rounds were requested"
    if reason:
        return Interval(reason=reason)
    picks = values[run.rng.integers(0, len(values), (run.rounds, len(values)))]
    spread = np.sort(picks.mean(axis=1) if mean else np.median(picks, axis=1))
    low, high = (float(spread[int(q * (len(spread) - 1))]) for q in (0.025, 0.975))
    if low == high:
        return Interval(reason="every bootstrap round gives the same value")
    return Interval(low, high)
