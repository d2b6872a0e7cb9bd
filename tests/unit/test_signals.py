# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from tcuq.profile.settings import InputSettings, NoveltySettings, SignalSettings
from tcuq.stages.signals import Signals


def make(
    classes: int = 3, width: int = 2, lags: tuple[int, ...] = (1, 2), *, novelty: bool = False
) -> Signals:
    """Return Signals with identity whitening and means at the origin and (10, 0, ..)."""
    means = (tuple([0.0] * width), (10.0, *[0.0] * (width - 1))[:width])
    whitening = tuple(tuple(row) for row in np.eye(width).tolist())
    reference = NoveltySettings(means, whitening) if novelty else None
    return Signals(
        SignalSettings(lags, 0.5, 0.5, reference),
        InputSettings("probabilities", classes, width, None),
    )


def rows(*values: list[float]) -> np.ndarray:
    """An array of rows."""
    return np.array(values, np.float64)


def test_the_past_begins_empty_and_ends_at_the_longest_lag() -> None:
    """Without a past, at first or after a reset, lagged signals are 0; no more is kept."""
    columns = make().run(rows([0.2, 0.3, 0.5]), rows([1.0, 2.0]))
    assert columns.divergence[0] == columns.inconsistency[0] == 0
    assert columns.named("instability")[0] == 0
    assert not columns.whole_past[0]
    signals = make()
    signals.run(rows([1, 0, 0]), rows([1, 0]))
    signals.reset_history()
    assert signals.run(rows([0, 1, 0]), rows([0, 1])).divergence[0] == 0
    signals = make(lags=(1, 3))
    signals.run(np.full((100, 3), 1 / 3), np.ones((100, 2)))
    assert len(signals._past.label) == 3  # noqa: SLF001 - the past is private


def test_identical_steps_have_divergence_exactly_0() -> None:
    """A constant stream has divergence exactly 0, whatever the posterior."""
    generator = np.random.default_rng(0)
    for row in generator.dirichlet(np.ones(3), 50):
        columns = make().run(np.repeat(row[None], 5, axis=0), np.ones((5, 2)))
        assert (columns.divergence == 0).all()
        assert np.abs(columns.named("instability")).max() < 1e-15


def test_divergence_by_hand() -> None:
    """Disjoint posteriors are 1 apart; weights are renormalised over the lags that have a past."""
    columns = make(lags=(1,)).run(rows([1, 0, 0], [0, 1, 0], [0, 0, 1]), np.ones((3, 2)))
    assert columns.divergence.tolist() == [0, 1, 1]
    assert columns.inconsistency.tolist() == [0, 1, 1]
    posteriors = rows([1, 0, 0], [0, 1, 0], [0, 1, 0])
    columns = make().run(posteriors, np.ones((3, 2)))
    assert columns.divergence == pytest.approx([0, 1, 1 / 3])
    assert columns.inconsistency == pytest.approx([0, 1, 1 / 2])
    assert columns.whole_past.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("before", "now", "instability"),
    [([0, 0], [0, 0], 0), ([0, 0], [1, 0], 1), ([1, 0], [0, 1], 1), ([1, 0], [-1, 0], 2)],
)
def test_zero_vectors_are_defined(
    before: list[float], now: list[float], instability: float
) -> None:
    """Two zero vectors are alike; a zero vector is unlike anything else."""
    columns = make(lags=(1,)).run(rows([0, 0, 1], [0, 0, 1]), rows(before, now))
    assert columns.named("instability")[1] == pytest.approx(instability)


def test_novelty_and_doubt_by_hand() -> None:
    """Novelty is ln(1 + least squared distance); a near-tie is doubtful where the top is likely."""
    columns = make(novelty=True).run(np.full((3, 3), 1 / 3), rows([0, 0], [9, 2], [3, 4]))
    assert columns.named("novelty") == pytest.approx(np.log1p([0, 5, 25]))
    columns = make().run(rows([0.5, 0.5, 0], [0.5, 0.25, 0.25]), np.ones((2, 2)))
    assert columns.doubt == pytest.approx([0.5 * 0.5 + 0.5 * 1, 0.5 * 0.5 + 0.5 * 0.75])


def test_contradiction_by_hand() -> None:
    """Nothing without a past; then what the past expects of the others over the label's share."""
    sure, other = [0.8, 0.1, 0.1], [0.1, 0.8, 0.1]
    first, same, changed = make(width=0).run(rows(sure, sure, other), None).named("contradiction")
    assert first == 0
    # With stickiness 1/2: kept 0.8 and 0.1, ratios 1.7, 0.65 and 0.5 + 0.1 · 1.5 = 0.65.
    assert same == pytest.approx(np.log(0.65 / 1.7))
    probable = np.array([0.8 * 1.7, 0.1 * 0.65, 0.1 * 0.65])
    ratios = 0.5 + 0.5 * 3 * probable / probable.sum()
    expected = (0.1 * ratios[0] + 0.1 * ratios[2]) / 0.2 / ratios[1]
    assert changed == pytest.approx(np.log(expected))


@pytest.mark.parametrize("classes", [2, 3, 10, 200])
def test_contradiction_expects_the_label_that_stays(classes: int) -> None:
    """A label that stays is expected ever more, up to a bound; one that returns speaks against."""
    draw = np.random.default_rng(classes)
    posteriors = draw.dirichlet(np.ones(classes), 400)
    posteriors[:200, 1] += 0.6 * (draw.random(200) < 0.8)
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    columns = make(classes, 0).run(posteriors, None)
    contradiction = columns.named("contradiction")
    bound = np.log((0.5 + 0.5 * min(classes, 100)) / 0.5)
    assert np.abs(contradiction).max() <= bound + 1e-9
    stayed = contradiction[1:200][columns.label[1:200] == 1]
    assert stayed.mean() < 0 < contradiction[1:200][columns.label[1:200] != 1].mean()
