# SPDX-License-Identifier: Apache-2.0
"""What is kept of a watched stream: counts, the last risks, the bucket and the alarms."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from tcuq.decision import Decision
from tcuq.errors import InputError
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.settings import TOKEN, AlarmFlag
from tcuq.stages.budget import Budget, Outcome
from tcuq.watch.sources import Step

HISTORY = 600
KEPT_ALARMS = 100


@dataclass(slots=True)
class Tally:
    """A monitor over steps as they come, and what it has said so far.

    Examples
    --------
    >>> from tcuq.demo import demo_profile, demo_stream
    >>> tally, stream = Tally(demo_profile()), demo_stream("test")
    >>> tally.take(Step(stream.posteriors[0], stream.features[0])).outcome.name
    'ACCEPT'
    >>> tally.steps
    1
    """

    profile: Profile
    steps: int = 0
    gaps: int = 0
    refused: int = 0  # lines that were no steps
    outcomes: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(Outcome, 0))
    alarms: deque[tuple[int, AlarmFlag]] = field(default_factory=lambda: deque(maxlen=KEPT_ALARMS))
    recent: deque[Decision] = field(default_factory=lambda: deque(maxlen=HISTORY))
    monitor: Monitor = field(init=False)
    bucket: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.monitor = Monitor(self.profile)
        self.bucket = Budget(self.profile.budget)

    @property
    def tokens(self) -> float:
        """Abstentions that the budget has left."""
        return self.bucket.tokens_q16 / TOKEN

    def take(self, step: Step) -> Decision | None:
        """Decide on a step; None of a gap and of what is no step."""
        if step.gap:
            self.monitor.reset_history()
            self.gaps += 1
            return None
        decision = self._decision(step)
        if decision is None:
            self.refused += 1
            return None
        self.steps += 1
        self.outcomes[decision.outcome] += 1
        self.bucket.run(np.array([decision.outcome != Outcome.ACCEPT]))
        self.recent.append(decision)
        if decision.alarm:
            self.alarms.append((self.steps, decision.alarm))
        return decision

    def _decision(self, step: Step) -> Decision | None:
        if step.posterior is None:
            return None
        try:
            return self.monitor.step(step.posterior, step.features)
        except InputError:
            return None
