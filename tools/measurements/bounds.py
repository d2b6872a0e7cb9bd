# SPDX-License-Identifier: Apache-2.0
"""The promises on exceedances and abstentions, with the user's own numbers, in every window."""

import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

import tcuq
from tools.measurements.result import Row, arguments, report

PAIRS = 1000
STEPS, SHORT_STEPS = 10_000_000, 100_000
ROUNDING = 1e-6  # of sums of 10^7 floats; a budget stored 10^-5 too large breaks its bound by more

Bytes = NDArray[np.uint8]
Generator = np.random.Generator


def _runs(rng: Generator, steps: int) -> Bytes:
    """Spells of certainty and of doubt, from one step to thousands."""
    lengths = np.ceil(rng.pareto(0.5, steps // 8 + 2)).clip(1, steps).astype(np.int64)
    lengths = lengths[: np.searchsorted(lengths.cumsum(), steps) + 1]
    doubt = np.repeat(np.arange(len(lengths)) % 2, lengths)[:steps]
    return np.where(doubt == 1, 128, 255).astype(np.uint8)


PATTERNS: dict[str, Callable[[Generator, int], Bytes]] = {
    "always doubtful": lambda _, steps: np.full(steps, 128, np.uint8),
    "never doubtful": lambda _, steps: np.full(steps, 255, np.uint8),
    "random": lambda rng, steps: rng.integers(128, 256, steps, np.uint8),
    "spells": _runs,
}


def calibration(rng: Generator) -> tcuq.Stream:
    """Two classes, any confidence."""
    certain = rng.uniform(0.5, 1, 1000)
    return tcuq.Stream(np.column_stack([certain, 1 - certain]))


def broken(seed: int, steps: int) -> str:
    """A random budget, alpha and pattern: which promise broke, or nothing."""
    rng = np.random.default_rng(seed)
    alpha, budget = rng.uniform(0.001, 0.999), rng.uniform(0, 1)
    profile = tcuq.fit(
        calibration(rng),
        alpha=alpha,
        budget=budget,
        terms=[tcuq.TermPlan("low_confidence", scale="odds")],
        mode=("guarded", "adaptive")[seed % 2],
        alarm=False,
    )
    first = list(PATTERNS.values())[seed // 2 % len(PATTERNS)](rng, steps)
    trace = tcuq.Monitor(profile).run(np.column_stack([first, 255 - first]))
    slack = (16384 + profile.threshold.step) / profile.threshold.step
    for name, hits, rate, most in (
        ("exceedances", trace.exceeded, alpha, slack),
        ("abstentions", trace.outcome == tcuq.Outcome.ABSTAIN, budget, 16.0),
    ):
        if _most_above(hits, rate) > most + ROUNDING:
            return f"{name} with alpha {alpha}, budget {budget}, seed {seed}"
    return ""


def _most_above(hits: NDArray[np.bool_], rate: float) -> float:
    """The most by which any window has more hits than rate · n."""
    above = np.concatenate([[0.0], hits.cumsum() - rate * np.arange(1, len(hits) + 1)])
    return float((above - np.minimum.accumulate(above)).max())


def main() -> None:
    """Try and report."""
    args = arguments()
    steps = SHORT_STEPS if args.short else STEPS
    warnings.simplefilter("ignore", tcuq.CalibrationWarning)
    with ThreadPoolExecutor(2) as pool:
        found = [name for name in pool.map(lambda seed: broken(seed, steps), range(PAIRS)) if name]
    for name in found:
        print(name)
    rows = [
        Row(
            "budgets and alphas whose bound breaks in some window",
            f"none of {PAIRS:,}, windows of up to 10⁷ steps",
            f"{len(found)} of {PAIRS:,}, {steps:,} steps each",
            not found,
        )
    ]
    sys.exit(report("bounds", rows, (), write=args.write))


if __name__ == "__main__":
    main()
