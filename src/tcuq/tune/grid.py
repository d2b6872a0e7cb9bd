# SPDX-License-Identifier: Apache-2.0
"""The grid: every combination of options that is tried."""

import itertools
from dataclasses import dataclass
from typing import Any

from tcuq.calibrate.presets import RECOMMENDED, options_from

Candidate = dict[str, Any]  # options of a fit, by name


@dataclass(frozen=True, slots=True)
class Grid:
    """What is tried of each option; None is left to the stream.

    Parameters
    ----------
    lags, block_factor
        Steps looked back over, and the factor of the alarm's block lengths.
    score, mix
        "anchored" and "tcuq"; the mix is the tcuq score's. Without labels: "anchored" alone.
    alpha, budget
        Without labels nothing says which is better, so the fit's defaults alone.

    Examples
    --------
    >>> len(Grid().candidates(labelled=True, steps_per_false_alarm=1 << 20))
    432
    """

    lags: tuple[tuple[int, ...], ...] = ((1,), (1, 2), (1, 2, 4), (1, 2, 4, 8))
    block_factor: tuple[int, ...] = (1, 2, 4)
    score: tuple[str, ...] | None = None
    mix: tuple[float, ...] = (0.5, 0.7, 0.9)
    alpha: tuple[float, ...] | None = None
    budget: tuple[float, ...] | None = None

    def candidates(self, *, labelled: bool, steps_per_false_alarm: int) -> list[Candidate]:
        """Every combination, each checked as the fit checks it."""
        scores = self.score or (("anchored", "tcuq") if labelled else ("anchored",))
        alphas = self.alpha or ((0.05, 0.1, 0.2) if labelled else (RECOMMENDED.alpha,))
        budgets = self.budget or ((0.05, 0.15, 0.3) if labelled else (RECOMMENDED.budget,))
        ranked: list[Candidate] = []
        for score in scores:
            # Free signs would fit this stream's rhythm, and the judging part has the same.
            mixes = [{"mix": mix, "signs": "monotone"} for mix in self.mix]
            ranked += [{"score": score, **more} for more in (mixes if score == "tcuq" else [{}])]
        found = [
            {
                "lags": lags,
                **rank,
                "alpha": alpha,
                "budget": budget,
                "block_factor": block_factor,
                "steps_per_false_alarm": steps_per_false_alarm,
            }
            for lags, rank, alpha, budget, block_factor in itertools.product(
                self.lags, ranked, alphas, budgets, self.block_factor
            )
        ]
        for candidate in found:
            options_from("recommended", candidate)
        return found
