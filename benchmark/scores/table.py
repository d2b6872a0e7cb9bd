# SPDX-License-Identifier: Apache-2.0
"""Every score by name, with the networks it needs and what it costs at inference."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmark.scores.distance import Mahalanobis, NextActivation
from benchmark.scores.monitors import DOUBT, Monitored, five_terms
from benchmark.scores.posterior import Conformal, Dummy, Perturbed, Posterior, Temperature
from benchmark.scores.score import Score
from benchmark.scores.several import GATHERS, Averaged
from benchmark.scores.several import Posterior as PosteriorNetwork
from tcuq import TermPlan


@dataclass(frozen=True, slots=True)
class Entry:
    """A score, the networks it needs, and whether its fit uses labels of shifted data."""

    make: Callable[[], Score]
    networks: tuple[str, ...] = ("base",)
    passes: int = 1  # forward passes a step; a backward pass counts as two
    labels: bool = False


def _monitored(
    network: str = "base", *, labelled: bool = False, device: bool = False, **options: object
) -> Entry:
    return Entry(
        lambda: Monitored(options, labelled=labelled, network=network, device=device),
        (network,),
        labels=labelled,
    )


ANCHORED = (DOUBT, TermPlan("novelty", dead=4.0))
N = five_terms(0.5, 1.5, 1.5, 0.25)
H = five_terms(0.5, 0.5, 0.5, 0.5)
M = five_terms(0.5, 1.0, 1.0, 0.25)
R1 = five_terms(1.0, 0.5, 0.5, 0.5, novelty_cap=12.0)

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
SEVERAL: Mapping[str, Entry] = {
    "ensemble": Entry(lambda: Averaged(GATHERS["ensemble"]), ("members",), passes=5),
    "dropout": Entry(lambda: Averaged(GATHERS["dropout"]), ("dropout",), passes=10),
    "exits": Entry(lambda: Averaged(GATHERS["exits"]), ("exits",)),
    "exits without the last": Entry(
        lambda: Averaged(GATHERS["exits without the last"]), ("exits",)
    ),
    "light exits": Entry(lambda: Averaged(GATHERS["light exits"]), ("exits-light",)),
    "hydra": Entry(lambda: Averaged(GATHERS["hydra"]), ("hydra",)),
    "postnet": Entry(PosteriorNetwork, ("postnet",)),
    "odin": Entry(Perturbed, ("odin",), passes=4),
}
OURS: Mapping[str, Entry] = {
    "tcuq": _monitored(labelled=True, score="tcuq"),
    "tcuq monotone": _monitored(labelled=True, score="tcuq", signs="monotone"),
    "tcuq assisted": _monitored("assisted", labelled=True, score="tcuq"),
    "anchored": _monitored(terms=ANCHORED),
    "N": _monitored(terms=N),
    "H": _monitored(terms=H),
    "M": _monitored(terms=M),
    "R1": _monitored(terms=R1),
    "NL": _monitored(labelled=True, terms=N),
    "recommended": _monitored(),
    "recommended labelled": _monitored(labelled=True),
    "recommended assisted": _monitored("assisted"),
}
DUMMIES: Mapping[str, Entry] = {
    "always": Entry(lambda: Dummy("always")),
    "never": Entry(lambda: Dummy("never")),
    "random": Entry(lambda: Dummy("random")),
}
SCORES: Mapping[str, Entry] = {**SINGLE_PASS, **SEVERAL, **OURS, **DUMMIES}
