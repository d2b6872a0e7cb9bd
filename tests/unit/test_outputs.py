# SPDX-License-Identifier: Apache-2.0
"""Models without classes: regressors, anomaly scores, autoencoders, detectors, embeddings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.cli import main
from tcuq.errors import FitError, InputError
from tcuq.reference import ReferenceMonitor
from tcuq.tap.recorder import reduced
from tests.fixtures.conformance import quiet_fit
from tests.fixtures.firmware.scenarios import outputs_stream

OUTPUTS = (1, 8)


@pytest.fixture(scope="module", params=OUTPUTS)
def case(request: pytest.FixtureRequest) -> tuple[tcuq.Profile, tcuq.Stream]:
    """A profile of so many outputs, and a stream with a fault in its second half."""
    count = request.param
    profile = quiet_fit(outputs_stream(6000, count, 1), alarm=tcuq.AlarmOptions(1 << 14))
    calm, fault = outputs_stream(1000, count, 2), outputs_stream(1000, count, 3, shift=30.0)
    values = np.concatenate([calm.posteriors, fault.posteriors])
    features = np.concatenate([np.asarray(each.features) for each in (calm, fault)])
    errors = np.arange(2000) >= 1000
    return profile, tcuq.Stream(outputs=values, features=features, errors=errors)


def test_errors_are_told_by_booleans_or_targets() -> None:
    """An output farther from its target than the tolerance is wrong; NaN is not known."""
    stream = tcuq.Stream(
        outputs=[[1.0, 5.0], [1.0, 5.0]], targets=[[1.5, 5.0], [1.0, 9.0]], tolerance=1
    )
    assert np.asarray(stream.labels).tolist() == [0, 1]
    assert (stream.classes, stream.kind) == (0, "outputs")
    assert repr(stream) == "Stream(2 steps, 2 outputs, no features, 1 recording, 100% labelled)"
    unknown = tcuq.Stream(outputs=[1.0, 2.0], targets=[np.nan, 2.0], tolerance=[0.0])
    assert np.asarray(unknown.labels).tolist() == [-1, 0]


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ({"outputs": np.zeros((5, 9))}, r"outputs must have the shape \(steps, 1 to 8\)"),
        ({"outputs": [0.0], "posteriors": [[0.5, 0.5]]}, "give one of them"),
        ({"outputs": [0.0], "errors": [1.0]}, "errors must"),
        ({"outputs": [0.0], "targets": [[0.0, 1]], "tolerance": 1}, "targets must have the shape"),
        ({"posteriors": [[0.5, 0.5]], "errors": [True]}, "of models without classes: give labels"),
    ],
)
def test_what_does_not_fit_is_refused(columns: dict[str, Any], rule: str) -> None:
    """One line names the rule."""
    with pytest.raises(InputError, match=rule):
        tcuq.Stream(**columns)


def test_decisions_are_near_the_float_references(case: tuple[tcuq.Profile, tcuq.Stream]) -> None:
    """The engine's integers follow the readable stages; files and snapshots keep decisions."""
    profile, stream = case
    monitor = tcuq.Monitor(profile)
    trace, reference = monitor.run(stream), ReferenceMonitor(profile).run(stream)
    assert np.abs(trace.risk - reference.risk).max() < 0.01
    assert ((trace.reason > 0) == (reference.reason > 0)).mean() > 0.98
    np.testing.assert_allclose(trace.novelty, reference.novelty, atol=0.5)
    assert min(trace.alarms) >= 1000
    assert trace.withheld[1000:].mean() > trace.withheld[:1000].mean()
    again = tcuq.Monitor(tcuq.Profile.from_json(profile.to_json()))
    features = np.asarray(stream.features)
    for step in range(30):
        assert again.step(stream.posteriors[step], features[step]) == trace[step]
    again.restore(monitor.snapshot())
    assert again.snapshot() == monitor.snapshot()


def test_bytes_are_the_rounded_distances_from_the_middle(
    case: tuple[tcuq.Profile, tcuq.Stream],
) -> None:
    """The firmware's int8 of an output is its distance from calibration's middle, in steps."""
    profile, stream = case
    outputs = profile.inputs.outputs
    assert outputs is not None
    steps = (stream.posteriors - np.array(outputs.centres)) / np.array(outputs.scales)
    rows, _ = tcuq.Monitor(profile).quantize(stream.posteriors, stream.features)
    np.testing.assert_array_equal(rows.view(np.int8), np.rint(np.clip(steps, -127, 127)))


def test_every_command_takes_a_stream_without_classes(
    case: tuple[tcuq.Profile, tcuq.Stream], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Save, inspect, fit, run, evaluate, report, size and export."""
    _, stream = case
    outputs_stream(3000, stream.posteriors.shape[1], 1).save(tmp_path / "calibration.npz")
    stream.save(tmp_path / "field.parquet")
    stream.save(tmp_path / "field.npz")
    names = ("calibration.npz", "field.parquet", "field.npz", "p.json")
    calibration, field, npz, profile = (str(tmp_path / name) for name in names)
    for words in (
        ("inspect", calibration),
        ("fit", calibration, "-o", profile, "--steps-per-false-alarm", "4096"),
        ("run", profile, field, "-o", str(tmp_path / "trace.npz")),
        ("evaluate", profile, field),
        ("report", profile, field, "-o", str(tmp_path / "report.html")),
        ("size", profile),
        ("pack", npz, "-o", str(tmp_path / "packed.parquet"), "--profile", profile),
        ("replay", profile, str(tmp_path / "packed.parquet"), "-o", str(tmp_path / "results")),
        ("export", profile, "-o", str(tmp_path / "c"), "--for", "c"),
    ):
        assert main(list(words)) == 0, capsys.readouterr().err
    assert "limit on the outputs alone" in (tmp_path / "report.html").read_text("utf-8")
    assert "tcuq_device_outputs" in (tmp_path / "c/src/tcuq_device.h").read_text("utf-8")
    assert "TCUQ_WITH_CLASSES 0" in (tmp_path / "c/src/tcuq.h").read_text("utf-8")


def test_a_promise_counts_errors_of_outputs() -> None:
    """Of the accepted outputs at most so many are beyond the tolerance, or the fit refuses."""
    profile = quiet_fit(outputs_stream(20_000, 1, 1), promise=tcuq.PromiseOptions(0.1))
    assert profile.promise is not None
    field = outputs_stream(5000, 1, 5)
    trace = tcuq.Monitor(profile).run(field)
    assert np.asarray(field.labels)[trace.promised].mean() <= 0.1
    with pytest.raises(FitError, match="accepted_error"):
        quiet_fit(outputs_stream(2000, 1, 1), promise=tcuq.PromiseOptions(0.001))


def test_many_values_are_named_for_what_they_look_like() -> None:
    """Nothing is reduced unless asked; the message says what it looks like."""
    inputs = np.random.default_rng(0).normal(size=(5, 40))
    grid = np.random.default_rng(1).random((5, 4, 4, 3))
    for values, word, how in (
        (inputs + 2, "autoencoder", "reconstruction"),
        (grid, "detector's grid", "best"),
        (inputs[:, :20], "embedding", "norm"),
    ):
        with pytest.raises(InputError, match=f'{word}.*reduce="{how}"'):
            reduced(values, inputs, None)
    np.testing.assert_allclose(reduced(inputs + 2, inputs, "reconstruction"), 4.0)
    np.testing.assert_array_equal(reduced(grid, inputs, "best"), grid.max(axis=(1, 2)))
    np.testing.assert_array_equal(reduced(grid, inputs, "best_first"), grid.max(axis=(2, 3)))
    np.testing.assert_allclose(
        reduced(inputs, inputs, "norm")[:, 0], np.linalg.norm(inputs, axis=1)
    )
