# SPDX-License-Identifier: Apache-2.0
"""The paper's claims, table by table and figure by figure: what we measured, and the verdict."""

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from benchmark.report.results import TITLES, by_seed, mean, mean_and_spread, table

Verdict = Literal[
    "reproduced", "partly", "refuted", "no effect possible", "not testable here", "not run yet"
]
Pair = tuple[dict[int, float], dict[int, float]]  # two results by seed
METHODS = {
    "BASE": "max_prob",
    "MCD": "dropout",
    "DEEP": "ensemble",
    "EE-ens": "exits",
    "G-ODIN": "odin",
    "HYDRA": "hydra",
    "TCUQ": "tcuq assisted",
}
CLOSE = 0.005  # differences up to this are ties


@dataclass(frozen=True, slots=True)
class Claim:
    """A row of the page."""

    where: str
    claim: str
    measured: str
    verdict: Verdict
    section: str = ""

    def cells(self) -> list[str]:
        """The cells of the table."""
        measured = f"[{self.measured}](index.md#{self.section})" if self.section else self.measured
        return [self.where, self.claim, measured, f"**{self.verdict}**"]


@cache
def paper() -> dict[str, Any]:
    """The paper's numbers."""
    return tomllib.loads(Path(__file__).with_name("paper.toml").read_text("utf-8"))


def method_means(task: str, measure: str, kind: str) -> dict[str, float]:
    """Means of the paper's methods that were run, by their names there, on TCUQ's seeds."""
    ours = method_values(task, measure, METHODS["TCUQ"], kind)
    means = {
        name: mean(
            [v for seed, v in method_values(task, measure, score, kind).items() if seed in ours]
        )
        for name, score in METHODS.items()
    }
    return {name: value for name, value in means.items() if not math.isnan(value)}


def method_values(task: str, measure: str, score: str, kind: str) -> dict[int, float]:
    """A score's values; for the paper's, the base network's if no assisted one was trained."""
    by_score = by_seed("detection", task, measure, score=score, kind=kind)
    if not by_score and score == METHODS["TCUQ"]:
        return by_seed("detection", task, measure, score="tcuq", kind=kind)
    return by_score


def leads(task: str, measure: str, kind: str, close: float = CLOSE) -> bool:
    """Whether TCUQ is the best of the paper's methods, or within `close` of the best."""
    means = method_means(task, measure, kind)
    return "TCUQ" in means and means["TCUQ"] >= max(means.values()) - close


def ranking(task: str, measure: str, kind: str) -> str:
    """TCUQ and the best of the others, as text."""
    means = method_means(task, measure, kind)
    others = {name: value for name, value in means.items() if name != "TCUQ"}
    if "TCUQ" not in means or not others:
        return f"{TITLES[task]} –"
    best = max(others, key=lambda name: others[name])
    return f"{TITLES[task]} {means['TCUQ']:.2f} (best other: {best} {others[best]:.2f})"


def verdict_of(cases: Sequence[bool]) -> Verdict:
    """Reproduced if the claim holds in all cases, refuted if in none."""
    if not cases:
        return "not run yet"
    return "reproduced" if all(cases) else "partly" if any(cases) else "refuted"


def lead_claim(
    where: str,
    claim: str,
    tasks: Sequence[str],
    measure: str,
    section: str,
    *,
    close: float = CLOSE,
) -> Claim:
    """TCUQ is claimed to lead: i.i.d. and coherent streams of each task are the cases."""
    cases = [
        (task, kind)
        for kind in ("iid", "coherent")
        for task in tasks
        if method_means(task, measure, kind)
    ]
    measured = "; ".join(
        f"{kind}: " + ", ".join(ranking(task, measure, kind) for task in tasks)
        for kind in ("iid", "coherent")
    )
    return Claim(
        where, claim, measured, verdict_of([leads(t, measure, k, close) for t, k in cases]), section
    )


def comparison_claim(
    where: str,
    claim: str,
    pairs: Mapping[str, Pair],
    better: Callable[[float, float], bool],
    section: str = "",
) -> Claim:
    """Two results in several cases, the first claimed to be better; on their common seeds."""
    values = {}
    for name, (one, other) in pairs.items():
        shared = sorted(one.keys() & other.keys())
        if shared:
            values[name] = [one[seed] for seed in shared], [other[seed] for seed in shared]
    if not values:
        return Claim(where, claim, "not run", "not run yet", section)
    measured = "; ".join(
        f"{name} {mean_and_spread(a)} against {mean_and_spread(b)}"
        for name, (a, b) in values.items()
    )
    cases = [better(mean(a), mean(b)) for a, b in values.values()]
    return Claim(where, claim, measured, verdict_of(cases), section)


def page(claims: Sequence[Claim]) -> str:
    """The claims page."""
    counts = Counter(claim.verdict for claim in claims)
    summary = ", ".join(f"{counts[v]} {v}" for v in get_args(Verdict) if counts[v])
    body = table(
        ["in the paper", "its claim", "what we measured", "verdict"],
        [claim.cells() for claim in claims],
    )
    return f"{INTRODUCTION}\n{summary}.\n\n{body}"


INTRODUCTION = """# The paper's claims, measured

For readers of the paper (Lamaakal et al., *TCUQ: Single-Pass Uncertainty Quantification from
Temporal Consistency with Streaming Conformal Calibration for TinyML*): each of its claims, what we
measured, and a verdict. Generated by `python -m benchmark.report` from `benchmark/results`; do not
edit. TCUQ is the paper's score on a network trained with temporal-assistance exits
(`tcuq assisted`), fitted with free signs, as in the paper. *Reproduced*: the claim holds in every
case shown; *partly*: in some; *refuted*: in none. Where TCUQ is claimed to lead, a difference up to
0.005 is a tie. Values without ± are of one network, and their verdict is provisional.

Differences from the paper's protocol: corruptions are regenerated with the published constants, not
the published arrays; training is shorter (CIFAR-10: 20 epochs, its variants 3 more, instead of
200); speech is AudioMNIST's ten digits by 60 speakers, because Speech Commands v2 is not available
here; CIFAR-10's out-of-distribution set is TinyImageNet, because SVHN is not available; the
CIFAR-10 ensemble has three members, not five. The paper does not state whether its streams are
shuffled or coherent, so both are shown. The score is averaged over windows of 100 steps, as in its
appendix.
"""
