# SPDX-License-Identifier: Apache-2.0
"""The state that `watch` shows: counts, recent decisions, tokens of the budget, and alarms."""

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from tcuq.decision import Decision
from tcuq.errors import InputError
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.settings import TOKEN
from tcuq.stages.budget import Budget, Outcome
from tcuq.watch.sources import Step

HISTORY = 600
MAX_ALARMS = 10_000  # the oldest are dropped, so that a stream without end needs no more memory


@dataclass(slots=True)
class Tally:
    """A monitor over steps as they arrive, and counts of its decisions.

    Steps are numbered from 0, as in every other tool; ``alarms`` holds (step, cause in words).

    Examples
    --------
    >>> from tcuq.demo import demo_profile, demo_stream
    >>> tally, stream = Tally(demo_profile()), demo_stream("test")
    >>> tally.update(Step(stream.posteriors[0], stream.features[0])).outcome.name
    'ABSTAIN'
    >>> tally.steps
    1
    """

    profile: Profile
    steps: int = 0
    gaps: int = 0
    invalid: int = 0  # lines and steps
    first_invalid: str = ""  # what was wrong with the first of them
    outcomes: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(Outcome, 0))
    without_health: int = 0  # steps that lack what the profile reads
    alarms: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=MAX_ALARMS))
    recent: deque[Decision] = field(default_factory=lambda: deque(maxlen=HISTORY))
    monitor: Monitor = field(init=False)
    bucket: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.monitor = Monitor(self.profile)
        self.bucket = Budget(self.profile.budget)

    @property
    def tokens(self) -> float:
        """Abstentions that are left in the budget."""
        return self.bucket.tokens_q16 / TOKEN

    @property
    def estimated_accuracy(self) -> float:
        """The share of the recent labels that are probably right; NaN before the first step."""
        errors = [decision.expected_error for decision in self.recent]
        return 1 - sum(errors) / len(errors) if errors else math.nan

    def update(self, step: Step) -> Decision | None:
        """Decide on a step; None for a gap and for an invalid line."""
        if step.gap:
            self.monitor.reset_history()
            self.gaps += 1
            return None
        try:
            decision = self._decision(step)
        except InputError as error:
            self.invalid += 1
            self.first_invalid = self.first_invalid or str(error)
            return None
        self.steps += 1
        self.without_health += step.health is None and self.monitor.reads_health
        self.outcomes[decision.outcome] += 1
        self.bucket.run(np.array([decision.outcome != Outcome.ACCEPT]))
        self.recent.append(decision)
        if decision.alarm:
            self.alarms.append((self.steps - 1, decision.cause))
        return decision

    def _decision(self, step: Step) -> Decision:
        if step.posterior is None:
            raise InputError(step.invalid)
        return self.monitor.step(step.posterior, step.features, step.health)
