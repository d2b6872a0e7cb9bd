# SPDX-License-Identifier: Apache-2.0
"""Every score by name, with the networks it needs and what it costs at inference."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from tcuq_benchmark.scores.distance import Mahalanobis, NextActivation
from tcuq_benchmark.scores.ensembles import LOGITS, MeanPosterior, PosteriorNetwork
from tcuq_benchmark.scores.monitors import MonitorScore
from tcuq_benchmark.scores.posterior import (
    Conformal,
    Odin,
    Posterior,
    Rule,
    Temperature,
    TrivialBaseline,
)
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


def _mean(name: str, network: str = "", passes: int = 1) -> Entry:
    return Entry(partial(MeanPosterior, LOGITS[name]), (network or name,), passes)


RULES: tuple[Rule, ...] = ("max_prob", "margin", "entropy", "energy")
SINGLE_PASS: Mapping[str, Entry] = {
    **{rule: Entry(partial(Posterior, rule)) for rule in RULES},
    "temperature": Entry(Temperature),
    "conformal": Entry(Conformal),
    "mahalanobis": Entry(Mahalanobis),
    "next activation": Entry(NextActivation),
}
MULTI_PASS: Mapping[str, Entry] = {
    "ensemble": _mean("ensemble", "members", passes=5),
    "dropout": _mean("dropout", passes=10),
    "exits": _mean("exits"),
    "exits without the last": _mean("exits without the last", "exits"),
    "light exits": _mean("light exits", "exits-light"),
    "hydra": _mean("hydra"),
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
    "always": Entry(partial(TrivialBaseline, "always")),
    "never": Entry(partial(TrivialBaseline, "never")),
    "random": Entry(partial(TrivialBaseline, "random")),
}
SCORES: Mapping[str, Entry] = {**SINGLE_PASS, **MULTI_PASS, **OURS, **TRIVIAL}
