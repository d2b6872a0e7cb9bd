# SPDX-License-Identifier: Apache-2.0
"""Our scores: the library's monitor, fitted with some options, on one network's stream."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmark.scores.score import Judged, softmax
from benchmark.seen import Seen
from tcuq import CalibrationWarning, Monitor, Profile, TermPlan, fit

DOUBT = TermPlan("low_confidence", cap=8.0)
ODDS = TermPlan("low_confidence", scale="odds")


def five_terms(
    novelty: float,
    usual: float,
    still: float,
    flips: float,
    *,
    novelty_cap: float = 4.0,
    doubt: TermPlan = DOUBT,
) -> tuple[TermPlan, ...]:
    """Low confidence, and with these weights: novelty, its mean, labels that stopped, flips."""
    return (
        doubt,
        TermPlan("novelty", dead=4.0, cap=novelty_cap, weight=novelty),
        TermPlan("novelty", ewma=5, dead=6.0, cap=2.0, weight=usual),
        TermPlan("inconsistency", tail="lower", ewma=5, dead=6.0, cap=2.0, weight=still),
        TermPlan("inconsistency", cap=8.0, weight=flips),
    )


@dataclass(slots=True)
class Monitored:
    """The library's risk. With `labelled`, weights are fitted on the development stream."""

    options: Mapping[str, Any]
    labelled: bool = False
    network: str = "base"
    layers: tuple[str, ...] = ("features",)
    device: bool = False
    profile_: Profile | None = field(default=None, init=False)

    def fit(self, calibration: Seen, development: Seen) -> None:
        """As a user would."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            self.profile_ = fit(
                calibration.stream(self.network, self.layers),
                development.stream(self.network, self.layers) if self.labelled else None,
                verbose=False,
                **{"h": None, **self.options},
            )

    def profile(self) -> Profile:
        """What was fitted."""
        if self.profile_ is None:
            raise ValueError("fit the score before it judges")
        return self.profile_

    def judge(self, seen: Seen) -> Judged:
        """One monitor over the stream."""
        make = Monitor if self.device else Monitor
        trace = make(self.profile()).run(seen.stream(self.network, self.layers))
        return Judged(softmax(seen.outputs[self.network]["logits"]), trace.risk.astype(float))
