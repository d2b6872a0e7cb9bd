# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from tcuq.errors import InputError
from tcuq.profile.settings import InputSettings, Projection
from tcuq.stages.inputs import Inputs


def test_posteriors_and_features_become_the_signals_inputs() -> None:
    """Logits and int8 softmax outputs become probabilities; wide features are projected."""
    inputs = Inputs(InputSettings("logits", 2, 0, None))
    probabilities, _ = inputs.run([[1000.0, 0.0], [0.0, 0.0]], None)
    assert probabilities.tolist() == [[1, 0], [0.5, 0.5]]
    inputs = Inputs(InputSettings("probabilities", 2, 0, None))
    probabilities, _ = inputs.run([[0.5, 0.51]], None)
    assert probabilities.sum() == pytest.approx(1, abs=1e-15)
    projection = Projection("pca", (1.0,) * 40, ((1.0,) * 40, (0.5,) * 40))
    inputs = Inputs(InputSettings("probabilities", 2, 40, projection, feature_scale=0.5))
    _, features = inputs.run([[0.5, 0.5]], np.full((1, 40), 2.0))
    assert features is not None
    assert features.tolist() == [[40, 20]]


@pytest.mark.parametrize(
    ("width", "posteriors", "features", "message"),
    [
        (0, [[0.2, 0.3, 0.5]], None, "posteriors must have 2 classes"),
        (0, [[0.5, 0.5]], [[1.0]], "features must be None"),
        (3, [[0.5, 0.5]], None, "features are missing: the profile needs 3"),
        (3, [[0.5, 0.5]], [[1.0, 2.0]], "features must be 3 wide"),
        (3, [[0.5, 0.5]], [[1.0, 2.0, 3.0]] * 2, r"features must have the shape \(1, width\)"),
    ],
)
def test_inputs_that_do_not_fit_the_profile_are_refused(
    width: int, posteriors: object, features: object, message: str
) -> None:
    """The error gives the profile's inputs."""
    inputs = Inputs(InputSettings("probabilities", 2, width, None))
    with pytest.raises(InputError, match=message):
        inputs.run(posteriors, features)  # type: ignore[arg-type]
