# SPDX-License-Identifier: Apache-2.0
"""Streams, features and snapshots at the edges of what is accepted, and one line for the rest."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.errors import FitError, InputError
from tcuq.evaluation import evaluate

pytestmark = pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")

Synthetic = Callable[..., tcuq.Stream]
HALVES = [[0.5, 0.5]] * 2
ROW, FEATURES = [1] + [0] * 9, [0] * 32  # of the bundled streams


def test_evaluate_refuses_a_stream_of_the_other_kind(
    profile: tcuq.Profile, test_stream: tcuq.Stream
) -> None:
    """Logits given to a profile of probabilities are refused, never read as probabilities."""
    columns = test_stream.posteriors, test_stream.features, test_stream.labels
    stream = tcuq.Stream(*columns, kind="logits", starts=test_stream.starts)
    with pytest.raises(InputError, match="kind"):
        evaluate(profile, stream, rounds=0)


@pytest.mark.parametrize("length", [2, 4])
def test_recordings_no_longer_than_the_longest_lag_are_a_fit_error(
    synthetic: Synthetic, length: int
) -> None:
    """Where no step has a full past, the fit is refused instead of dividing by zero."""
    with pytest.raises(FitError, match="longest lag"):
        tcuq.fit(synthetic(width=0, starts=range(0, 600, length)), lags=(1, 4))


@pytest.mark.parametrize("starts", [range(0, 600, 5), range(0, 596, 2)])
def test_recordings_of_which_one_is_long_enough_are_fitted(
    synthetic: Synthetic, starts: range
) -> None:
    """One step with a full past is enough for a fit."""
    tcuq.fit(synthetic(601, width=0, starts=starts))


def test_extreme_profiles_survive_a_snapshot() -> None:
    """Long blocks leave a limit of at least one bit; projected features beyond 1e9 are restored."""
    rng = np.random.default_rng(0)
    rows, features = rng.dirichlet([1, 1], 60), rng.normal(size=(60, 2))
    slow, slow_features = np.repeat(rows, 400, axis=0), np.repeat(features, 400, axis=0)
    profile = tcuq.fit(
        tcuq.Stream(slow, slow_features), alarm=tcuq.AlarmOptions(256, block_factor=4)
    )
    assert profile.alarm is not None
    assert min(profile.alarm.boot_limit_q8(channel) for channel in profile.alarm.channels) == 256
    monitor, other = tcuq.Monitor(profile), tcuq.Monitor(profile)
    monitor.run(slow[:50], slow_features[:50])
    other.restore(monitor.snapshot())
    assert other.snapshot() == monitor.snapshot()
    rng = np.random.default_rng(0)
    stream = tcuq.Stream(rng.dirichlet([1, 1], 600), rng.normal(size=(600, 40)))
    profile = tcuq.fit(stream)
    assert profile.inputs.projection is not None
    monitor, other = tcuq.Monitor(profile), tcuq.Monitor(profile)
    monitor.step([0.5, 0.5], 1e9 * np.sign(profile.inputs.projection.matrix[0]))
    other.restore(monitor.snapshot())
    assert other.snapshot() == monitor.snapshot()


@pytest.mark.parametrize("starts", ["abc", [0.5], [0.0], ["0"], [1], [-1]])
def test_starts_that_are_no_steps_of_the_run_are_an_input_error(
    profile: tcuq.Profile, starts: Any
) -> None:
    """Text, fractions and steps that are not there are refused, never rounded or passed over."""
    with pytest.raises(InputError, match="starts"):
        tcuq.Monitor(profile).run([ROW], [FEATURES], starts=starts)


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        (np.array(HALVES), "got ndarray: write  tcuq.Stream(posteriors, features)"),
        (HALVES, "got list: write  tcuq.Stream(posteriors, features)"),
        ("day.npz", "got str: write  tcuq.Stream.load('day.npz')"),
    ],
)
def test_array_or_path_in_the_place_of_a_stream_is_an_input_error(
    synthetic: Synthetic, profile: tcuq.Profile, given: Any, instead: str
) -> None:
    """The message has the call to write instead."""
    calls: dict[str, Callable[[], object]] = {
        "calibration": lambda: tcuq.fit(given),
        "development": lambda: tcuq.fit(synthetic(), given),
        "stream": lambda: evaluate(profile, given),
    }
    for name, call in calls.items():
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == f"{name} must be a tcuq.Stream, {instead}"
    if isinstance(given, str):  # a monitor takes arrays too
        with pytest.raises(InputError, match=r"stream must be a tcuq\.Stream"):
            tcuq.Monitor(profile).run(given)


def test_something_else_in_the_place_of_a_profile_or_a_streams_name_is_an_input_error() -> None:
    """The error names the argument and what it may be."""
    with pytest.raises(InputError, match=r"profile must be a tcuq.Profile or a path, got dict"):
        tcuq.Monitor({})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="name must be one of calibration, development, test"):
        tcuq.demo_stream("foo")
