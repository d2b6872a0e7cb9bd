# SPDX-License-Identifier: Apache-2.0
"""Scenarios of continuous recordings: coherent is as recorded, i.i.d. the same windows shuffled."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tcuq_benchmark.corruptions.inertial import SUITE
from tcuq_benchmark.corruptions.suite import SEVERITIES
from tcuq_benchmark.data.samples import Part, Recording, joined
from tcuq_benchmark.recordings import Windows, windows, with_faults
from tcuq_benchmark.scenarios.scenario import Kind, Name, Scenario, single_condition
from tcuq_benchmark.streams import Episode, followed_by, in_order

Parts = Mapping[Part, tuple[Recording, ...]]


@dataclass(frozen=True, eq=False)
class InertialScenarios:
    """Scenarios of a set of recordings; the other set's windows are out of distribution."""

    load: Callable[[], Parts]
    load_ood: Callable[[], Parts]
    classes: tuple[str, ...]

    def __call__(self, name: Name, kind: Kind, seed: int) -> Scenario:
        """Return one scenario."""
        parts = self.load()
        if name == "drop":
            return self._with_faults(name, kind, seed, parts["test"], lambda: SEVERITIES)
        if name == "development":
            rng = np.random.default_rng([seed, 5])
            return self._with_faults(
                name,
                kind,
                seed,
                parts["development"],
                lambda: rng.choice(SEVERITIES, 2, replace=False).tolist(),
            )
        recordings = parts["calibration" if name == "calibration" else "test"]
        cut = windows(recordings, self.classes, join_people=True)
        samples, plan = cut.samples, in_order(cut.samples, starts=cut.starts)
        if name == "ood":
            other = windows(self.load_ood()["test"], self.classes).samples
            unlabelled = replace(other, y=np.full(len(other), -1))
            plan = followed_by(plan, in_order(unlabelled), len(samples))
            samples = joined(samples, unlabelled)
        return _of_kind(kind, seed, single_condition(name, kind, samples, plan))

    def _with_faults(
        self,
        name: Name,
        kind: Kind,
        seed: int,
        recordings: Sequence[Recording],
        severities: Callable[[], Sequence[int]],
    ) -> Scenario:
        """Return all recordings once per fault, clean and faulty spans alternating."""
        runs = [
            self._one_fault(recordings, [(fault, level) for level in severities()], seed + i)
            for i, fault in enumerate(SUITE)
        ]
        samples = runs[0].samples
        for run in runs[1:]:
            samples = joined(samples, run.samples)
        lengths = [len(run.samples) for run in runs]
        begins = np.cumsum([0, *lengths[:-1]])
        starts = np.concatenate([b + run.starts for b, run in zip(begins, runs, strict=True)])
        shifted = np.concatenate([run.shifted for run in runs])
        plan = in_order(samples, starts=starts, shifted=shifted)
        condition = np.repeat(np.arange(len(runs)), lengths)
        return _of_kind(
            kind, seed, Scenario(name, kind, samples, plan, {}, condition, tuple(SUITE))
        )

    def _one_fault(
        self, recordings: Sequence[Recording], episodes: Sequence[Episode], seed: int
    ) -> Windows:
        span = sum(len(r.label) for r in recordings) // (2 * len(episodes) + 1)
        faulty, active = with_faults(recordings, episodes, SUITE, seed, clean=span, corrupted=span)
        return windows(faulty, self.classes, active, join_people=True)


def _of_kind(kind: Kind, seed: int, scenario: Scenario) -> Scenario:
    """Return the scenario as recorded, or shuffled within clean and shifted steps."""
    if kind == "coherent":
        return scenario
    plan, rng = scenario.plan, np.random.default_rng([seed, 6])
    index = plan.index.copy()
    for number in range(len(scenario.conditions)):
        for shifted in (False, True):
            at = np.flatnonzero((scenario.condition == number) & (plan.shifted == shifted))
            index[at] = rng.permutation(index[at])
    starts = np.searchsorted(scenario.condition, np.arange(len(scenario.conditions)))
    settings = plan.settings | {"shuffled": seed}
    return replace(scenario, plan=replace(plan, index=index, starts=starts, settings=settings))
