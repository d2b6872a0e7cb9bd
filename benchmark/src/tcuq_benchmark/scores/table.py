# SPDX-License-Identifier: Apache-2.0
"""Every score by name, with the networks it needs and what it costs at inference."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tcuq_benchmark.scores.distance import Mahalanobis, NextActivation
from tcuq_benchmark.scores.ensembles import LOGITS, MeanPosterior, PosteriorNetwork
from tcuq_benchmark.scores.monitors import MonitorScore
from tcuq_benchmark.scores.posterior import Conformal, Odin, Posterior, Temperature, TrivialBaseline
from tcuq_benchmark.scores.score import Score


@dataclass(frozen=True, slots=True)
class Entry:
    """A score, the networks it needs, and whether its fit uses labels of shifted data."""

    make: Callable[[], Score]
    networks: tuple[str, ...] = ("base",)
    passes: int = 1  # forward passes per step; a backward pass counts as two
    labels: bool = False


def _monitor(network: str = "base", *, labelled: bool = False, **options: object) -> Entry:
    return Entry(
        lambda: MonitorScore(options, labelled=labelled, network=network),
        (network,),
        labels=labelled,
    )


SINGLE_PASS: Mapping[str, Entry] = {
    "max_prob": Entry(lambda: Posterior("max_prob")),
    "margin": Entry(lambda: Posterior("margin")),
    "entropy": Entry(lambda: Posterior("entropy")),
    "energy": Entry(lambda: Posterior("energy")),
    "temperature": Entry(Temperature),
    "conformal": Entry(Conformal),
    "mahalanobis": Entry(Mahalanobis),
    "next activation": Entry(NextActivation),
}
MULTI_PASS: Mapping[str, Entry] = {
    "ensemble": Entry(lambda: MeanPosterior(LOGITS["ensemble"]), ("members",), passes=5),
    "dropout": Entry(lambda: MeanPosterior(LOGITS["dropout"]), ("dropout",), passes=10),
    "exits": Entry(lambda: MeanPosterior(LOGITS["exits"]), ("exits",)),
    "exits without the last": Entry(
        lambda: MeanPosterior(LOGITS["exits without the last"]), ("exits",)
    ),
    "light exits": Entry(lambda: MeanPosterior(LOGITS["light exits"]), ("exits-light",)),
    "hydra": Entry(lambda: MeanPosterior(LOGITS["hydra"]), ("hydra",)),
    "postnet": Entry(PosteriorNetwork, ("postnet",)),
    "odin": Entry(Odin, ("odin",), passes=4),
}
# The paper has one score for every purpose.
OURS: Mapping[str, Entry] = {
    "tcuq": _monitor(labelled=True, score="tcuq", novelty=False),
    "tcuq monotone": _monitor(labelled=True, score="tcuq", signs="monotone", novelty=False),
    "tcuq assisted": _monitor("assisted", labelled=True, score="tcuq", novelty=False),
    "tcuq wide": _monitor("wide", labelled=True, score="tcuq", novelty=False),
    "recommended": _monitor(),
    "recommended labelled": _monitor(labelled=True),
    "recommended assisted": _monitor("assisted"),
}
TRIVIAL: Mapping[str, Entry] = {
    "always": Entry(lambda: TrivialBaseline("always")),
    "never": Entry(lambda: TrivialBaseline("never")),
    "random": Entry(lambda: TrivialBaseline("random")),
}
SCORES: Mapping[str, Entry] = {**SINGLE_PASS, **MULTI_PASS, **OURS, **TRIVIAL}
