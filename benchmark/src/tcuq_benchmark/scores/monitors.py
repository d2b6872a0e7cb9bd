# SPDX-License-Identifier: Apache-2.0
"""Our scores: the library's monitor, fitted with some options, on one network's stream."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tcuq import Monitor, Profile, Stream, fit
from tcuq.errors import CalibrationWarning
from tcuq.options import grouped
from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scores.score import Prediction, softmax


def quiet_fit(
    calibration: Stream,
    development: Stream | None = None,
    **options: Any,  # noqa: ANN401 - those of tcuq.fit
) -> Profile:
    """Fit a profile; its warnings are stored in it and not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return fit(calibration, development, **options)


@dataclass(slots=True)
class MonitorScore:
    """The library's three answers; if `labelled`, their weights are fitted on development.

    `options` are single options of a fit, by name.
    """

    options: Mapping[str, Any]
    labelled: bool = False
    network: str = "base"
    profile_: Profile | None = field(default=None, init=False)

    def fit(self, calibration: ScenarioRun, development: ScenarioRun) -> None:
        """Fit a profile with `tcuq.fit`."""
        self.profile_ = quiet_fit(
            calibration.stream(self.network),
            development.stream(self.network) if self.labelled else None,
            **grouped("recommended", {"alarm": False, **self.options}),
        )

    def profile(self) -> Profile:
        """Return the fitted profile."""
        if self.profile_ is None:
            raise ValueError("a score must be fitted before it predicts: call fit")
        return self.profile_

    def predict(self, run: ScenarioRun) -> Prediction:
        """Run a monitor over the stream."""
        profile = self.profile()
        trace = Monitor(profile).run(run.stream(self.network))
        novelty = trace.novelty if profile.novelty else None
        p = softmax(run.outputs[self.network]["logits"])
        return Prediction(p, trace.risk, novelty, trace.expected_error)
