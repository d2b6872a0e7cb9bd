# SPDX-License-Identifier: Apache-2.0
"""The paper's claims, table by table and figure by figure: what we measured, and the verdict."""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from benchmark.report.held import TITLES, by_seed, mean, shown, table

Verdict = Literal[
    "reproduced", "partly", "refuted", "not possible here", "not run yet", "cannot matter"
]
Pair = tuple[dict[int, float], dict[int, float]]  # two things by seed
METHODS = {
    "BASE": "max_prob",
    "MCD": "dropout",
    "DEEP": "ensemble",
    "EE-ens": "exits",
    "G-ODIN": "odin",
    "HYDRA": "hydra",
    "TCUQ": "tcuq assisted",
}
CLOSE = 0.005  # differences up to here are a tie


@dataclass(frozen=True, slots=True)
class Claim:
    """A row of the page."""

    where: str
    claim: str
    measured: str
    verdict: Verdict
    section: str = ""

    def cells(self) -> list[str]:
        """As the table shows it."""
        measured = f"[{self.measured}](index.md#{self.section})" if self.section else self.measured
        return [self.where, self.claim, measured, f"**{self.verdict}**"]


@cache
def paper() -> dict[str, Any]:
    """The paper's numbers."""
    return tomllib.loads(Path(__file__).with_name("paper.toml").read_text("utf-8"))


def standing(task: str, measure: str, kind: str) -> dict[str, float]:
    """Each of the paper's methods that was run here, by its name there, on TCUQ's seeds."""
    ours = tried(task, measure, METHODS["TCUQ"], kind)
    found = {
        name: mean([v for seed, v in tried(task, measure, score, kind).items() if seed in ours])
        for name, score in METHODS.items()
    }
    return {name: value for name, value in found.items() if not math.isnan(value)}


def tried(task: str, measure: str, score: str, kind: str) -> dict[int, float]:
    """A score's values; the paper's on the plain network where no assisted one was trained."""
    found = by_seed("detection", task, measure, score=score, kind=kind)
    if not found and score == METHODS["TCUQ"]:
        return by_seed("detection", task, measure, score="tcuq", kind=kind)
    return found


def leads(task: str, measure: str, kind: str, close: float = CLOSE) -> bool:
    """Whether TCUQ is best, or as close to the best of the paper's methods."""
    found = standing(task, measure, kind)
    return "TCUQ" in found and found["TCUQ"] >= max(found.values()) - close


def ranking(task: str, measure: str, kind: str) -> str:
    """TCUQ and the best of the others, in words."""
    found = standing(task, measure, kind)
    others = {name: value for name, value in found.items() if name != "TCUQ"}
    if "TCUQ" not in found or not others:
        return f"{TITLES[task]} –"
    best = max(others, key=lambda name: others[name])
    return f"{TITLES[task]} {found['TCUQ']:.2f} (best other: {best} {others[best]:.2f})"


def of_cases(held: Sequence[bool]) -> Verdict:
    """Reproduced if it holds in all cases, refuted if in none."""
    if not held:
        return "not run yet"
    return "reproduced" if all(held) else "partly" if any(held) else "refuted"


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
        if standing(task, measure, kind)
    ]
    told = "; ".join(
        f"{kind}: " + ", ".join(ranking(task, measure, kind) for task in tasks)
        for kind in ("iid", "coherent")
    )
    return Claim(
        where, claim, told, of_cases([leads(t, measure, k, close) for t, k in cases]), section
    )


def compared(
    where: str,
    claim: str,
    rows: Mapping[str, Pair],
    better: Callable[[float, float], bool],
    section: str = "",
) -> Claim:
    """Two things in several cases, the first claimed to be better; on the seeds they share."""
    found = {}
    for name, (one, other) in rows.items():
        shared = sorted(one.keys() & other.keys())
        if shared:
            found[name] = [one[seed] for seed in shared], [other[seed] for seed in shared]
    if not found:
        return Claim(where, claim, "not run", "not run yet", section)
    told = "; ".join(f"{name} {shown(a)} against {shown(b)}" for name, (a, b) in found.items())
    held = [better(mean(a), mean(b)) for a, b in found.values()]
    return Claim(where, claim, told, of_cases(held), section)


def page(claims: Sequence[Claim]) -> str:
    """The claims page."""
    counts = {
        v: sum(c.verdict == v for c in claims) for v in dict.fromkeys(c.verdict for c in claims)
    }
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    body = table(
        ["in the paper", "its claim", "what we measured", "verdict"],
        [claim.cells() for claim in claims],
    )
    return f"{INTRODUCTION}\n{summary}.\n\n{body}"


INTRODUCTION = """# The paper's claims, measured

Made by `python -m benchmark.report` from `benchmark/results`; do not edit. The paper: Lamaakal et
al., *TCUQ: Single-Pass Uncertainty Quantification from Temporal Consistency with Streaming
Conformal Calibration for TinyML*. TCUQ here is its score on a network trained with
temporal-assistance exits (`tcuq assisted`), fitted with free signs, as the paper fits it.
*Reproduced*: it holds in every case shown; *partly*: in some; *refuted*: in none. Where TCUQ is
said to lead, a difference up to 0.005 is a tie. Where no ± stands, one network of a kind was
trained so far, and the verdict is provisional.

What differs from the paper's protocol: corruptions are regenerated with the published constants,
not the published arrays; schedules are shorter (CIFAR-10: 20 epochs, its variants 3 more, where the
paper has 200); speech is AudioMNIST's ten digits by 60 speakers, because Speech Commands v2 is not
at hand; SVHN is not at hand, so CIFAR-10's other things are TinyImageNet's; the CIFAR-10 ensemble
has three members, not five. The paper does not say whether its streams are shuffled or coherent;
both are shown. The score is averaged over the window of 100 steps, as in its appendix.
"""
