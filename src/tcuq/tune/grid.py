# SPDX-License-Identifier: Apache-2.0
"""The grid: every combination of options that tuning tries."""

import itertools
from dataclasses import dataclass
from typing import Any

from tcuq.options import PRESETS, grouped, options_from

Candidate = dict[str, Any]  # options of a fit, by name


@dataclass(frozen=True, slots=True)
class Grid:
    """Values to try for each option; None means that labels decide.

    Parameters
    ----------
    lags, block_factor
        Lags of the signals, and the factor of the alarm's block lengths.
    score, mix
        "anchored" and "tcuq"; the mix belongs to the tcuq score. Without labels only "anchored".
    alpha, budget
        Without labels no measure ranks them, so only the defaults of the fit.

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
        """Every combination, validated as the fit validates its options."""
        usual = PRESETS["recommended"]
        scores = self.score or (("anchored", "tcuq") if labelled else ("anchored",))
        alphas = self.alpha or ((0.05, 0.1, 0.2) if labelled else (usual.alpha,))
        budgets = self.budget or ((0.05, 0.15, 0.3) if labelled else (usual.budget,))
        score_options: list[Candidate] = []
        for score in scores:
            # Free signs would overfit the stream's rhythm, which the validation part shares.
            mixes = [{"mix": mix, "signs": "monotone"} for mix in self.mix]
            score_options += [
                {"score": score, **more} for more in (mixes if score == "tcuq" else [{}])
            ]
        candidates = [
            {
                "lags": lags,
                **score,
                "alpha": alpha,
                "budget": budget,
                "block_factor": factor,
                "steps_per_false_alarm": steps_per_false_alarm,
            }
            for lags, score, alpha, budget, factor in itertools.product(
                self.lags, score_options, alphas, budgets, self.block_factor
            )
        ]
        for candidate in candidates:
            options_from("recommended", grouped("recommended", candidate))
        return candidates
