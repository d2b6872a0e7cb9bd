# SPDX-License-Identifier: Apache-2.0
"""Every promise of the README, and whether it held on this stream.

Promises about every window are checked over all of them at once: a window's surplus is the
difference of two values of one cumulative sum.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tcuq.evaluate import lives
from tcuq.evaluate.measures import poisson_interval
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.settings import ALPHA_BITS, RISK_LEVELS, TOKEN
from tcuq.report.view import View
from tcuq.stages.budget import Outcome

Verdict = Literal["held", "broken", "not known"]
Floats = NDArray[np.float64]

FIRST_STEPS = 1000
ENOUGH = 3.0  # false alarms expected, for their absence to say something
ROUNDING = 1e-6  # of a sum of as many steps as a stream has


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise, what it assumes, and what this stream says of it."""

    promise: str
    assumption: str
    verdict: Verdict
    found: str


def promises(view: View) -> Iterator[Promise]:
    """In the order in which the README makes them."""
    yield _exceedances(view)
    yield _abstentions(view)
    yield _alarm(view)
    yield _step_is_run(view)
    yield _device(view)
    yield _checked(view.profile)


def _exceedances(view: View) -> Promise:
    threshold = view.profile.threshold
    alpha = threshold.alpha_q16 / (1 << ALPHA_BITS)
    allowed = (RISK_LEVELS + threshold.step) / threshold.step
    sums = [_cumulative(view.trace.exceeded[a:b], alpha) for a, b in lives(view.stream)]
    furthest = max(float(s.max() - s.min()) for s in sums)
    return Promise(
        f"Exceedances: in every window of n steps their rate is within {allowed:,.4g} / n"
        f" of alpha = {alpha:.4g}.",
        "None: any sequence, chosen by an adversary too.",
        _verdict(furthest <= allowed + ROUNDING),
        f"No window strays from alpha\u00a0·\u00a0n by more than {furthest:,.1f};"
        f" {allowed:,.1f} are allowed.",
    )


def _abstentions(view: View) -> Promise:
    rate, burst = view.profile.budget.rate_q16 / TOKEN, view.profile.budget.burst_q16 / TOKEN
    abstained = view.trace.outcome == Outcome.ABSTAIN
    sums = [_cumulative(abstained[a:b], rate) for a, b in lives(view.stream)]
    surplus = max(float((s - np.minimum.accumulate(s)).max()) for s in sums)
    return Promise(
        f"Abstentions: in every window of n steps at most {burst:g} + {rate:.4g}\u00a0·\u00a0n.",
        "None: any sequence.",
        _verdict(surplus <= burst + ROUNDING),
        f"The fullest window takes {surplus:.1f} more than {rate:.4g}\u00a0·\u00a0n;"
        f" {burst:g} more are allowed.",
    )


def _alarm(view: View) -> Promise:
    assumption = "Blocks of the stream no more extreme, given their past, than calibration's."
    alarm = view.profile.alarm
    if alarm is None:
        return Promise(
            "Alarm: none in this profile.", assumption, "not known", "Nothing was promised."
        )
    promise = f"Alarm: one false alarm in {alarm.steps_per_false_alarm:,} steps."
    usual = ~view.shifted
    steps, count = int(usual.sum()), int((view.trace.alarm[usual] > 0).sum())
    if view.stream.shifted is None:
        found = (
            "The stream does not say which of its steps are shifted. Were none,"
            f" {_times(count)} in {steps:,} steps would be false."
        )
        return Promise(promise, assumption, "not known", found)
    allowed = steps / alarm.steps_per_false_alarm
    few = " So few steps can break this promise, not prove it." if allowed < ENOUGH else ""
    return Promise(
        promise,
        assumption,
        _verdict(poisson_interval(count)[0] <= allowed) if steps else "not known",
        f"On {steps:,} unshifted steps {_times(count)}; {allowed:.2g} expected at most.{few}",
    )


def _step_is_run(view: View) -> Promise:
    monitor, stream = Monitor(view.profile), view.stream
    first = stream.cut(0, min(FIRST_STEPS, lives(stream)[0][1]))
    starts, same = set(first.starts.tolist()), True
    for step in range(len(first)):
        if step in starts:
            monitor.reset_history()
        features = None if first.features is None else first.features[step]
        same &= monitor.step(first.posteriors[step], features) == view.trace[step]
    return Promise(
        "The same numbers step by step and in bulk, bit for bit.",
        "None.",
        _verdict(same),
        f"The first {len(first):,} steps were also taken one by one.",
    )


def _device(view: View) -> Promise:
    trace, reference = view.trace, view.reference
    same = float((trace.outcome == reference.outcome).mean())
    gap = float(np.abs(trace.risk - reference.risk).max())
    return Promise(
        "The device decides what this page shows, bit for bit.",
        "The same inputs, quantised as the export says.",
        "held",
        "By construction: this page ran the device's own code. The float reference decides alike"
        f" at {same:.2%} of the steps; their risks differ by at most {gap:.4f}.",
    )


def _checked(profile: Profile) -> Promise:
    return Promise(
        "A damaged or foreign profile is refused.",
        "None.",
        _verdict(Profile.from_json(profile.to_json()) == profile),
        f"This one passes every check; its SHA-256 begins {profile.sha256[:8]}.",
    )


def _cumulative(hits: NDArray[np.bool_], rate: float) -> Floats:
    """From 0, what came beyond the rate up to each step."""
    return np.concatenate([[0.0], np.cumsum(hits) - rate * np.arange(1, len(hits) + 1)])


def _times(count: int) -> str:
    return "no alarm" if count == 0 else "1 alarm" if count == 1 else f"{count:,} alarms"


def _verdict(kept: bool) -> Verdict:
    return "held" if kept else "broken"
