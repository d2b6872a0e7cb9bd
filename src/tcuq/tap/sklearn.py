# SPDX-License-Identifier: Apache-2.0
"""scikit-learn, and anything with `predict_proba`: an object, never a file."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import InputError
from tcuq.stream import Kind
from tcuq.tap.graph import chosen

Array = NDArray[Any]
BATCH = 4096


class SklearnTap:
    """A fitted classifier or pipeline.

    Parameters
    ----------
    estimator
        Anything with ``predict_proba``. It needs no library of ours: what made it is there.
    layer
        The step of a pipeline whose output the features are; if None, what the pipeline's last
        step is given. Without a pipeline there are no features.
    """

    kind: Kind = "probabilities"
    batch = BATCH

    def __init__(self, estimator: Any, layer: str | None = None) -> None:  # noqa: ANN401 - duck
        if not callable(getattr(estimator, "predict_proba", None)):
            raise InputError(
                f"estimator must have predict_proba, got {type(estimator).__name__}"
                " (a pipeline's last step must, too)"
            )
        self._estimator = estimator
        steps = [name for name, _ in getattr(estimator, "steps", ())]
        self._transform = None
        self.layer: str | None = None
        if layer is not None or len(steps) > 1:
            before = steps[:-1]
            self.layer = before[-1] if layer is None else chosen(layer, before, "layer")
            self._transform = estimator[: steps.index(self.layer) + 1]

    @property
    def labels(self) -> Array | None:
        """What the classifier calls its columns."""
        classes = getattr(self._estimator, "classes_", None)
        return None if classes is None else np.asarray(classes)

    def run(self, inputs: Array) -> tuple[Array, Array | None]:
        """Posteriors of a batch, and what the chosen step makes of it."""
        posteriors = np.asarray(self._estimator.predict_proba(inputs))
        if self._transform is None:
            return posteriors, None
        made = self._transform.transform(inputs)
        return posteriors, np.asarray(made.toarray() if hasattr(made, "toarray") else made)
