# SPDX-License-Identifier: Apache-2.0
"""Stress: faults of recorded inputs, and the weight of novelty that they give."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import tcuq
from tcuq.cli import main
from tcuq.errors import FitError, InputError
from tcuq.tap import open_tap, record, stress
from tcuq.tap.recorder import Tap
from tcuq.tap.stressing import FAULTS, STRETCH, Sensor

pytestmark = pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")
SHAPES = [(STRETCH, 6), (STRETCH, 20, 3), (STRETCH, 8, 8, 1), (STRETCH, 1, 8, 8), (STRETCH, 1)]


@pytest.fixture(scope="module")
def network() -> tuple[Tap, NDArray[Any]]:
    """A small network of scikit-learn's digits, and those it did not see."""
    images, labels = load_digits(return_X_y=True)
    model = MLPClassifier((24,), max_iter=300, random_state=0, early_stopping=True)
    return open_tap(model.fit(images[:800], labels[:800])), images[800:]


@pytest.mark.parametrize("shape", SHAPES)
def test_faults_keep_the_shape_and_change_values(shape: tuple[int, ...]) -> None:
    """Every fault takes tables, series and pictures."""
    inputs = np.random.default_rng(0).normal(3, 2, shape)
    for fault in FAULTS:
        if fault is not None:
            faulty = fault(Sensor(inputs), inputs, 1.0, np.random.default_rng(1))
            assert faulty.shape == shape
            assert np.isfinite(faulty).all()
            assert not np.array_equal(faulty, inputs)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if np.prod(shape) > STRETCH])
def test_no_fault_freezes_a_whole_input(shape: tuple[int, ...]) -> None:
    """A part of each input still changes from step to step.

    Pictures with their single channel in front, as PyTorch has them, froze as a whole.
    """
    inputs = np.random.default_rng(0).normal(3, 2, shape)
    for fault in FAULTS:
        if fault is not None:
            faulty = fault(Sensor(inputs), inputs, 1.0, np.random.default_rng(1))
            assert (faulty[1:] != faulty[0]).reshape(STRETCH - 1, -1).any(axis=1).all()


def test_labels_are_the_clean_predictions(network: tuple[Tap, NDArray[Any]]) -> None:
    """Steps without a fault keep their prediction; with one, some change."""
    tap, images = network
    stream, clean = stress(tap, images), record(tap, images)
    assert stream.labels is not None
    assert stream.shifted is not None
    assert np.array_equal(stream.labels, clean.posteriors.argmax(axis=1))
    changed = stream.posteriors.argmax(axis=1) != stream.labels
    assert not changed[~stream.shifted].any()
    assert 0.02 < changed[stream.shifted].mean() < 0.9
    assert stress(tap, images).sha256 == stream.sha256 != stress(tap, images, seed=1).sha256


def test_integers_saturate(network: tuple[Tap, NDArray[Any]]) -> None:
    """Inputs keep their type, as a sensor of so many bits would give them."""
    batches: list[NDArray[Any]] = []

    class Watching:
        kind, layer, batch, labels = "probabilities", None, 4096, None

        def run(self, inputs: NDArray[Any]) -> tuple[NDArray[Any], None]:
            batches.append(inputs)
            return np.tile([0.9, 0.1], (len(inputs), 1)), None

    stress(Watching(), (16 * network[1]).clip(0, 255).astype(np.uint8))  # type: ignore[arg-type]
    assert {inputs.dtype.name for inputs in batches} == {"uint8"}


def test_novelty_weighs_at_least_what_it_weighs_without_stress(
    network: tuple[Tap, NDArray[Any]],
) -> None:
    """Stress changes novelty's weights in the risk alone, up to those in the expected error."""
    tap, images = network
    calibration = record(tap, np.repeat(images, 2, axis=0))
    plain = tcuq.fit(calibration).score
    weighed = tcuq.fit(calibration, stress=stress(tap, images)).score
    assert plain.kind == weighed.kind == "anchored"
    for before, after in zip(plain.terms, weighed.terms, strict=True):
        assert after.error_weight == before.error_weight
        most = max(before.weight, before.error_weight)
        of_novelty = before.signal == "novelty"
        assert before.weight <= after.weight <= (most if of_novelty else before.weight)


def test_stress_keeps_the_bias_of_terms_without_odds(network: tuple[Tap, NDArray[Any]]) -> None:
    """Where surprises alone make the score, its bias is that of the fit without stress."""
    tap, images = network
    calibration, terms = record(tap, images), [tcuq.TermPlan("novelty")]
    plain = tcuq.fit(calibration, terms=terms).score
    assert tcuq.fit(calibration, terms=terms, stress=stress(tap, images)).score.bias == plain.bias


def test_refusals_name_what_is_missing(network: tuple[Tap, NDArray[Any]]) -> None:
    """Too few steps, both kinds of streams, and a score without novelty are refused."""
    tap, images = network
    with pytest.raises(InputError, match=r"at least 288 steps, got the shape \(100, 64\)"):
        stress(tap, images[:100])
    calibration, stressed = record(tap, images), stress(tap, images)
    with pytest.raises(FitError, match="give one of them"):
        tcuq.fit(calibration, stressed, stress=stressed)
    with pytest.raises(FitError, match="give development"):
        tcuq.fit(calibration, stress=stressed, preset="paper")
    with pytest.raises(FitError, match="stress must have classes 10 as calibration, got 2"):
        tcuq.fit(calibration, stress=tcuq.Stream(np.tile([0.9, 0.1], (300, 1))))


FACTORY = """
import numpy as np
from sklearn.linear_model import LogisticRegression

def make():
    inputs = np.random.default_rng(0).normal(size=(600, 4))
    return LogisticRegression().fit(inputs, inputs[:, 0] > 0)
"""


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`tcuq record --stress` writes what `tcuq fit --stress` takes."""
    (tmp_path / "model.py").write_text(FACTORY)
    inputs = np.random.default_rng(1).normal(size=(600, 4))
    np.savez(tmp_path / "d.npz", inputs=inputs)
    common = [f"{tmp_path}/model.py:make", f"{tmp_path}/d.npz", "-o"]
    assert main(["record", *common, f"{tmp_path}/c.npz"]) == 0
    assert main(["record", *common, f"{tmp_path}/s.npz", "--stress"]) == 0
    assert "unchanged" in capsys.readouterr().out
    given = [f"{tmp_path}/c.npz", "--stress", f"{tmp_path}/s.npz", "-o", f"{tmp_path}/p.json"]
    assert main(["fit", *given]) == 0
    assert main(["record", *common, f"{tmp_path}/s.npz", "--stress", "--health"]) != 0
    assert "leave --health out" in capsys.readouterr().err
