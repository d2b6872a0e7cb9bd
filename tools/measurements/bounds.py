# SPDX-License-Identifier: Apache-2.0
"""The promises on exceedances and abstentions, with the user's own numbers, in every window."""

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

import tcuq
from results.result import Row, measure
from tcuq.errors import CalibrationWarning

PAIRS = 1000
CHUNK = 20_000
STEPS, SHORT_STEPS = 1_000_000, 100_000
LONG, LONG_STEPS = 100, 10_000_000  # the first so many pairs run longer
ROUNDING = 1e-6  # of sums of 10^7 floats; a budget stored 10^-5 too large breaks its bound by more

Bytes = NDArray[np.uint8]
Generator = np.random.Generator


def _runs(rng: Generator, steps: int) -> Bytes:
    """Return spells of certainty and of doubt, from one step to thousands."""
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
    """Return a stream of two classes with any confidence."""
    certain = rng.uniform(0.5, 1, 1000)
    return tcuq.Stream(np.column_stack([certain, 1 - certain]))


def broken(seed: int, steps: int) -> str:
    """Run a random budget, alpha and pattern; return which promise broke, or nothing."""
    rng = np.random.default_rng(seed)
    alpha, budget = rng.uniform(0.001, 0.999), rng.uniform(0, 1)
    profile = tcuq.fit(
        calibration(rng),
        alpha=alpha,
        budget=budget,
        terms=[tcuq.TermPlan("low_confidence", scale="odds")],
        paper=tcuq.PaperOptions("anchored", mode=("guarded", "adaptive")[seed % 2], warmup=0),
        alarm=False,
    )
    pattern, monitor = list(PATTERNS.values())[seed // 2 % len(PATTERNS)], tcuq.Monitor(profile)
    slack = (16384 + profile.threshold.step) / profile.threshold.step
    windows = {"exceedances": Windows(alpha, slack), "abstentions": Windows(budget, 16.0)}
    for _ in range(steps // CHUNK):
        first = pattern(rng, CHUNK)
        trace = monitor.run(np.column_stack([first, 255 - first]))
        windows["exceedances"].add(trace.exceeded)
        windows["abstentions"].add(trace.outcome == tcuq.Outcome.ABSTAIN)
    names = [name for name, window in windows.items() if window.broken]
    return f"{', '.join(names)}: alpha {alpha}, budget {budget}, seed {seed}" if names else ""


class Windows:
    """Whether any window of n consecutive steps has more than slack + rate · n hits."""

    def __init__(self, rate: float, slack: float) -> None:
        self.broken = False
        self._rate, self._slack = rate, slack
        self._above = self._lowest = 0.0  # hits - rate · steps so far, and its least value

    def add(self, hits: NDArray[np.bool_]) -> None:
        """Take the next steps."""
        above = self._above + (hits - self._rate).cumsum()
        lowest = np.minimum(np.minimum.accumulate(above), self._lowest)
        self.broken |= bool((above - lowest).max() > self._slack + ROUNDING)
        self._above, self._lowest = float(above[-1]), float(lowest[-1])


def rows(short: bool) -> Iterator[Row]:
    """Yield how many random budgets and alphas break a bound in some window."""
    steps, long = (SHORT_STEPS, 0) if short else (STEPS, LONG)
    warnings.simplefilter("ignore", CalibrationWarning)
    with ThreadPoolExecutor(2) as pool:
        lengths = [LONG_STEPS if seed < long else steps for seed in range(PAIRS)]
        bad = [name for name in pool.map(broken, range(PAIRS), lengths) if name]
    for name in bad:
        print(name)
    yield Row(
        "budgets and alphas whose bound breaks in some window",
        f"none of {PAIRS:,}, windows of up to 10⁷ steps",
        f"{len(bad)} of {PAIRS:,}; {steps:,} steps each, {LONG_STEPS:,} for {long} of them",
        not bad,
    )


if __name__ == "__main__":
    measure("bounds", rows)
