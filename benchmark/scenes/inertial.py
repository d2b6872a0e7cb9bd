# SPDX-License-Identifier: Apache-2.0
"""Scenes of continuous recordings: coherent is as recorded, i.i.d. the same windows shuffled."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmark.corruptions.inertial import SUITE
from benchmark.corruptions.suite import SEVERITIES
from benchmark.data.samples import Part, Recording, joined
from benchmark.recordings import Windows, faulted, windows
from benchmark.scenes.scene import Kind, Name, Scene, alone
from benchmark.streams import Episode, followed, in_order

Parts = Mapping[Part, tuple[Recording, ...]]


@dataclass(frozen=True, eq=False)
class Inertial:
    """Scenes of a set of recordings; the other set's windows are out of distribution."""

    load: Callable[[], Parts]
    load_other: Callable[[], Parts]
    classes: tuple[str, ...]

    def __call__(self, name: Name, kind: Kind, seed: int) -> Scene:
        """One scene."""
        parts = self.load()
        if name in ("drop", "rehearsal"):
            recordings = parts["test" if name == "drop" else "development"]
            return self._faults(name, kind, seed, recordings, lambda _: SEVERITIES)
        if name == "development":
            rng = np.random.default_rng([seed, 5])
            return self._faults(
                name,
                kind,
                seed,
                parts["development"],
                lambda _: rng.choice(SEVERITIES, 2, replace=False).tolist(),
            )
        recordings = parts["calibration" if name == "calibration" else "test"]
        cut = windows(recordings, self.classes, join_people=True)
        plan = in_order(cut.samples, starts=cut.starts)
        if name == "ood":
            cut_other = windows(self.load_other()["test"], self.classes)
            unknown = replace(cut_other.samples, y=np.full(len(cut_other.samples), -1))
            plan = followed(plan, in_order(unknown), len(cut.samples))
            return _of_kind(kind, seed, alone(name, kind, joined(cut.samples, unknown), plan))
        return _of_kind(kind, seed, alone(name, kind, cut.samples, plan))

    def _faults(
        self,
        name: Name,
        kind: Kind,
        seed: int,
        recordings: Sequence[Recording],
        severities: Callable[[str], Sequence[int]],
    ) -> Scene:
        """The recordings once with every fault, clean and faulty spans in turn."""
        made = [
            self._one_fault(recordings, [(fault, level) for level in severities(fault)], seed + i)
            for i, fault in enumerate(SUITE)
        ]
        samples = made[0].samples
        for one in made[1:]:
            samples = joined(samples, one.samples)
        lengths = [len(one.samples) for one in made]
        begins = np.cumsum([0, *lengths[:-1]])
        starts = np.concatenate([b + one.starts for b, one in zip(begins, made, strict=True)])
        plan = in_order(
            samples, starts=starts, shifted=np.concatenate([one.shifted for one in made])
        )
        scenario = np.repeat(np.arange(len(made)), lengths)
        return _of_kind(kind, seed, Scene(name, kind, samples, plan, {}, scenario, tuple(SUITE)))

    def _one_fault(
        self, recordings: Sequence[Recording], episodes: Sequence[Episode], seed: int
    ) -> Windows:
        span = sum(len(r.label) for r in recordings) // (2 * len(episodes) + 1)
        broken, active = faulted(recordings, episodes, SUITE, seed, clean=span, corrupted=span)
        return windows(broken, self.classes, active, join_people=True)


def _of_kind(kind: Kind, seed: int, scene: Scene) -> Scene:
    """The scene as it is, or shuffled among the clean and among the shifted steps of a scenario."""
    if kind == "coherent":
        return scene
    plan, rng = scene.plan, np.random.default_rng([seed, 6])
    index = plan.index.copy()
    for number in range(len(scene.scenarios)):
        for shifted in (False, True):
            at = np.flatnonzero((scene.scenario == number) & (plan.shifted == shifted))
            index[at] = rng.permutation(index[at])
    starts = np.searchsorted(scene.scenario, np.arange(len(scene.scenarios)))
    settings = plan.settings | {"shuffled": seed}
    return replace(scene, plan=replace(plan, index=index, starts=starts, settings=settings))
