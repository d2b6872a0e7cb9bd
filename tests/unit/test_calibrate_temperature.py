# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import tcuq
from tcuq.errors import InputError
from tcuq.tap import record


class LogitTap:
    """A tap that returns its inputs as logits, or as what it is told they are."""

    layer, labels, batch = None, None, 100

    def __init__(self, kind: tcuq.stream.Kind = "logits") -> None:
        self.kind = kind

    def run(self, inputs: np.ndarray) -> tuple[np.ndarray, None]:
        """Return the inputs."""
        return inputs, None


def sample(temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """Logits, and labels drawn from their softmax at this temperature."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20_000, 4)) * 3
    noise = rng.gumbel(size=logits.shape)
    return logits, (logits / temperature + noise).argmax(axis=1)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
def test_the_temperature_of_the_labels_is_found(temperature: float) -> None:
    """Labels drawn at a temperature give it back; steps of no class do not count."""
    logits, labels = sample(temperature)
    assert tcuq.fit_temperature(logits, labels) == pytest.approx(temperature, rel=0.03)
    odd = tcuq.fit_temperature(logits[1::2], labels[1::2])
    for none in (-1, -2):
        half = np.where(np.arange(len(labels)) % 2, labels, none)
        assert tcuq.fit_temperature(logits, half) == odd


def test_recording_divides_logits() -> None:
    """The stream holds the scaled logits; 1 leaves them as they are."""
    logits, _ = sample(1.0)
    scaled = record(LogitTap(), logits, temperature=2.0)
    np.testing.assert_array_equal(scaled.posteriors, logits / 2)
    np.testing.assert_array_equal(record(LogitTap(), logits).posteriors, logits)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("inf"), float("nan")])
def test_wrong_temperatures_are_refused(temperature: float) -> None:
    """A temperature is a positive number."""
    with pytest.raises(InputError, match="temperature must be a positive number, got"):
        record(LogitTap(), sample(1.0)[0], temperature=temperature)


def test_probabilities_have_no_temperature() -> None:
    """A model that ends in a softmax is refused with the next step."""
    with pytest.raises(InputError, match=r"temperature must be 1 .* record its logits"):
        record(LogitTap("probabilities"), np.full((5, 2), 0.5), temperature=2.0)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], r"labels must have the shape \(3,\)"),
        ([-1, -2, -1], "labels must be known at one step at least"),
        ([0, 1, 2], r"labels must lie in 0\.\.1, .*got 2"),
    ],
)
def test_wrong_labels_are_refused(labels: list[int], message: str) -> None:
    """Labels are columns of the logits, one per step, and some are known."""
    with pytest.raises(InputError, match=message):
        tcuq.fit_temperature(np.eye(3, 2), labels)
