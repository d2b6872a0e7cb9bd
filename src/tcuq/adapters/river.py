# SPDX-License-Identifier: Apache-2.0
"""river: the monitor as a drift detector. Extra `river`."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcuq._extras import import_extra
from tcuq.errors import InputError
from tcuq.monitor import Monitor
from tcuq.profile import Profile

if TYPE_CHECKING:
    from tcuq.decision import Decision

Base: Any = import_extra("river.base", "river").DriftDetector


class DriftMonitor(Base):  # type: ignore[misc]
    """A drift detector of river that reads a classifier's outputs, without labels.

    Parameters
    ----------
    profile
        From ``tcuq.fit``, or the path of a saved profile.
    classes
        The keys of a river model's ``predict_proba_one``, in the order of the calibration stream;
        None: 0, 1, 2 and so on.

    Examples
    --------
    >>> from tcuq.demo import demo_profile, demo_stream
    >>> detector, stream = DriftMonitor(demo_profile()), demo_stream("fault_hum")
    >>> for step in range(len(stream)):
    ...     detector.update(stream.posteriors[step], stream.features[step])
    ...     if detector.drift_detected:
    ...         break
    >>> bool(stream.shifted[step])
    True
    """

    def __init__(
        self,
        profile: Profile | str | os.PathLike[str],
        classes: Sequence[Any] | None = None,
    ) -> None:
        super().__init__()
        self.profile = profile
        self.classes = classes
        self._monitor = Monitor(profile)
        self.decision: Decision | None = None

    def update(
        self,
        x: Any,  # noqa: ANN401 - a row, or a dictionary by class
        features: Any = None,  # noqa: ANN401 - an array-like
        health: Any = None,  # noqa: ANN401 - an array-like
    ) -> None:
        """Take one step: probabilities as a row or by class; read `drift_detected` afterwards."""
        row = self._row(x) if isinstance(x, Mapping) else x
        self.decision = self._monitor.step(row, features, health)
        self._drift_detected = self.decision.alarm != 0

    def _row(self, by_class: Mapping[Any, float]) -> Any:  # noqa: ANN401 - an array
        classes = (
            range(self._monitor.profile.inputs.classes) if self.classes is None else self.classes
        )
        unknown = set(by_class) - set(classes)
        if unknown:
            raise InputError(
                f"x must have keys among {list(classes)[:20]}, got {min(map(str, unknown))!r}:"
                " give the model's classes as classes="
            )
        return np.array([by_class.get(name, 0.0) for name in classes])

    def _reset(self) -> None:
        super()._reset()
        self._monitor.reset()
        self.decision = None
