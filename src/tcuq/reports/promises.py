# SPDX-License-Identifier: Apache-2.0
"""Every promise of the README, and whether it held on this stream.

Promises about every window are checked over all windows at once: the surplus of a window is the
difference of two values of one cumulative sum.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tcuq.evaluation.measures import poisson_interval, steps_after_shift
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.settings import ALPHA_BITS, RISK_LEVELS, TOKEN, PromiseSettings
from tcuq.reports.view import View
from tcuq.stages.budget import Outcome

Verdict = Literal["held", "broken", "not known"]
Floats = NDArray[np.float64]

FIRST_STEPS = 1000
MIN_EXPECTED_ALARMS = 3.0  # expected false alarms from which their absence is evidence
ROUNDING = 1e-6  # error of the cumulative sums


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise, its assumption, and the evidence of this stream."""

    promise: str
    assumption: str
    verdict: Verdict
    evidence: str


def promises(view: View) -> Iterator[Promise]:
    """Check every promise, in the README's order."""
    yield _exceedances(view)
    yield _abstentions(view)
    yield _alarm(view)
    if view.profile.promise is not None:
        yield _accepted_error(view, view.profile.promise)
    yield _step_is_run(view)
    yield Promise(
        "The device makes the decisions on this page, bit for bit.",
        "the firmware quantises its inputs as the export states.",
        "held",
        "By construction: this page ran the C code of the device.",
    )
    profile = view.profile
    yield Promise(
        "A damaged or invalid profile is refused.",
        "nothing.",
        _verdict(Profile.from_json(profile.to_json()) == profile),
        f"This profile passes every check; its SHA-256 begins with {profile.sha256[:8]}.",
    )


def _exceedances(view: View) -> Promise:
    threshold = view.profile.threshold
    alpha = threshold.alpha_q16 / (1 << ALPHA_BITS)
    if threshold.step == 0:
        return Promise(
            "Exceedances: the threshold is fixed, and nothing is promised about their rate.",
            "nothing.",
            "not known",
            f"{view.trace.exceeded.mean():.1%} of steps reached it, {alpha:.1%} in calibration.",
        )
    allowed = (RISK_LEVELS + threshold.step) / threshold.step
    surplus = _surplus(view.trace.exceeded, alpha)
    furthest = float(surplus.max() - surplus.min())
    return Promise(
        f"Exceedances: in every window of n steps their rate is within {allowed:,.4g} / n"
        f" of alpha = {alpha:.4g}.",
        "nothing: any sequence, even one chosen by an adversary.",
        _verdict(furthest <= allowed + ROUNDING),
        f"The worst window is {furthest:,.1f} exceedances away from alpha\u00a0·\u00a0n;"
        f" {allowed:,.1f} are allowed.",
    )


def _abstentions(view: View) -> Promise:
    rate, burst = view.profile.budget.rate_q16 / TOKEN, view.profile.budget.burst_q16 / TOKEN
    surplus = _surplus(view.trace.outcome == Outcome.ABSTAIN, rate)
    fullest = float((surplus - np.minimum.accumulate(surplus)).max())
    return Promise(
        f"Abstentions: in every window of n steps at most {burst:g} + {rate:.4g}\u00a0·\u00a0n.",
        "nothing: any sequence.",
        _verdict(fullest <= burst + ROUNDING),
        f"The worst window has {fullest:.1f} more than {rate:.4g}\u00a0·\u00a0n;"
        f" {burst:g} more are allowed.",
    )


def _alarm(view: View) -> Promise:
    assumption = (
        "a block's chance of passing an edge depends on the past only through whether one of the"
        " two blocks before it passed one, and stays what calibration and this stream have shown."
    )
    alarm = view.profile.alarm
    if alarm is None:
        return Promise(
            "Alarm: this profile has none.", assumption, "not known", "Nothing was promised."
        )
    promise = f"Alarm: on average at most one false alarm in {alarm.steps_per_false_alarm:,} steps."
    block = max(channel.block for channel in alarm.channels)
    after = steps_after_shift(view.shifted, block)
    unshifted = ~view.shifted & ~after
    steps, count = int(unshifted.sum()), int((view.trace.alarm[unshifted] > 0).sum())
    if view.stream.shifted is None:
        evidence = (
            f"{_alarms(count).capitalize()} in {steps:,} steps. Whether they are false is unknown:"
            " the stream does not mark its shifted steps."
        )
        return Promise(promise, assumption, "not known", evidence)
    allowed = steps / alarm.steps_per_false_alarm
    evidence = f"{_alarms(count).capitalize()} on {steps:,} steps without a shift;"
    evidence += f" at most {allowed:.2g} expected."
    late = int((view.trace.alarm[after] > 0).sum())
    if late:
        evidence += f" {_alarms(late).capitalize()} within {block} steps after a shift not counted."
    if allowed < MIN_EXPECTED_ALARMS:
        evidence += " So few steps can break this promise, but not prove it."
    verdict = _verdict(poisson_interval(count)[0] <= allowed) if steps else "not known"
    return Promise(promise, assumption, verdict, evidence)


def _accepted_error(view: View, promise: PromiseSettings) -> Promise:
    trace = view.trace
    covered = trace.promised & view.known
    count, wrong = int(covered.sum()), int((covered & view.wrong).sum())
    denied = int((trace.outcome == Outcome.DENIED).sum())
    evidence = (
        f"{wrong:,} of {count:,} covered steps with a label were wrong"
        + (f" ({wrong / count:.1%})." if count else ".")
        + f" {denied:,} DENIED steps ({denied / len(trace):.1%}) are not accepted and not covered;"
        f" {promise.denied:.1%} were expected."
    )
    if trace.alarms:
        evidence += f" Void since the alarm at step {next(iter(trace.alarms)):,}."
    newcomers = "recordings" if promise.unit == "recordings" else "more data of the same people"
    return Promise(
        f"Accepted error: {promise.sentence}.",
        f"{newcomers} like calibration's, whose labels count as {promise.independent:,} independent"
        f" {promise.unit}.",
        _verdict(wrong <= promise.accepted_error * count) if count else "not known",
        evidence,
    )


def _step_is_run(view: View) -> Promise:
    monitor, stream = Monitor(view.profile), view.stream
    first = stream[:FIRST_STEPS]
    starts, same = set(first.starts.tolist()), True
    for step in range(len(first)):
        if step in starts:
            monitor.reset_history()
        features = None if first.features is None else first.features[step]
        health = None if first.health is None else first.health[step]
        same &= monitor.step(first.posteriors[step], features, health) == view.trace[step]
    return Promise(
        "Step by step and in bulk give the same numbers, bit for bit.",
        "nothing.",
        _verdict(same),
        f"The first {len(first):,} steps were also run one by one.",
    )


def _surplus(hits: NDArray[np.bool_], rate: float) -> Floats:
    """Hits beyond the rate up to each step, from 0 before the first."""
    return np.concatenate([[0.0], np.cumsum(hits) - rate * np.arange(1, len(hits) + 1)])


def _alarms(count: int) -> str:
    return "no alarm" if count == 0 else "1 alarm" if count == 1 else f"{count:,} alarms"


def _verdict(holds: bool) -> Verdict:
    return "held" if holds else "broken"
