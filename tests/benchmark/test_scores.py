# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from benchmark.experiments import measures
from benchmark.scores.table import SCORES
from benchmark.seen import Seen

CLASSES, WIDTH = 4, 6


def made_up(steps: int, seed: int, spread: float = 0.5) -> Seen:
    """A network that is wrong more often in the second half of each of two scenarios."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.integers(0, CLASSES, steps // 20), 20)
    shifted = np.tile(np.repeat([False, True], steps // 4), 2)
    centres = np.eye(CLASSES, WIDTH) * 4
    noise = rng.normal(size=(steps, WIDTH)) * np.where(shifted, 4 * spread, spread)[:, None]
    features = (centres[labels] + noise).astype(np.float32)
    logits = features[:, :CLASSES]
    several = logits[:, None] + rng.normal(size=(steps, 3, CLASSES)).astype(np.float32)
    one = {
        "logits": logits,
        "features": features,
        "early": features + 1,
        "heads": several,
        "passes": several,
        "alpha": np.exp(logits),
        "odin": 1 / (1 + np.exp(-logits.max(axis=1))),
    }
    names = (
        "base",
        "assisted",
        "exits",
        "exits-light",
        "hydra",
        "dropout",
        "postnet",
        "odin",
        "member0",
        "member1",
    )
    return Seen(
        labels,
        np.array([0, steps // 2]),
        shifted,
        shifted * 3,
        np.repeat([0, 1], steps // 2),
        ("one", "other"),
        dict.fromkeys(names, one),
    )


def calm(steps: int, seed: int) -> Seen:
    """The same in distribution."""
    made = made_up(2 * steps, seed)
    return made.where(~made.shifted)


@pytest.mark.parametrize("name", SCORES)
def test_every_score_keeps_to_the_interface(name: str) -> None:
    """Fitted on one stream, it gives probabilities and a finite risk for every step of another."""
    score = SCORES[name].make()
    score.fit(calm(2_000, 0), made_up(2_000, 1))
    seen = made_up(800, 2)
    judged = score.judge(seen)
    assert judged.probabilities.shape == (800, CLASSES)
    np.testing.assert_allclose(judged.probabilities.sum(axis=1), 1)
    assert judged.risk.shape == (800,)
    assert np.isfinite(judged.risk).all()
    again = score.judge(seen)
    assert (again.risk == judged.risk).all()


@pytest.mark.parametrize("name", sorted(set(SCORES) - {"always", "never", "random"}))
def test_every_score_knows_more_than_nothing(name: str) -> None:
    """On a stream whose errors are visible, wrong steps are ranked above right ones."""
    score = SCORES[name].make()
    score.fit(calm(4_000, 0), made_up(4_000, 1))
    seen = made_up(4_000, 2)
    assert measures.failure_auroc(seen, score.judge(seen)) > 0.6


def test_drop_is_judged_by_scenario_against_the_usual_accuracy() -> None:
    """A risk that is high where accuracy fell beats a constant one."""
    seen = made_up(4_000, 3)
    score = SCORES["max_prob"].make()
    ordinary = measures.usual(calm(4_000, 4))
    judged = score.judge(seen)
    blind = SCORES["never"].make().judge(seen)
    for name, value in measures.drop_auprc(seen, judged, ordinary).items():
        assert value > measures.drop_auprc(seen, blind, ordinary)[name] + 0.2
