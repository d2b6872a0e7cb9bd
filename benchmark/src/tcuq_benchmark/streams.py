# SPDX-License-Identifier: Apache-2.0
"""Streams as plans: each step's sample, camera offset and corruption.

A plan holds no inputs; `render` makes the inputs of any range of steps, and a step's input does not
depend on the range. i.i.d.: every pass over the samples in a new order. Coherent: labels follow a
Markov chain. In order: as recorded, or speaker by speaker.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq_benchmark.corruptions.suite import Suite, apply
from tcuq_benchmark.data.samples import Array, Ints, Samples

DWELL = 30.0  # mean steps for which a label stays
BLOCK = 256  # steps that share one random generator
NONE = -1

Episode = tuple[str, int]  # a corruption and its severity
Segment = tuple[Episode, int]  # an episode and its steps
CLEAN: Episode = ("", 0)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """One stream. `settings` identify it: how it was made, in JSON types.

    `index` points into the samples, `move` (steps, 2) is in pixels down and right, `corruption`
    points into `corruptions` or is -1, `shifted` marks every out-of-distribution step.
    """

    index: Ints
    move: NDArray[np.int8]
    corruption: Ints
    severity: Ints
    shifted: NDArray[np.bool_]
    starts: Ints
    corruptions: tuple[str, ...]
    seed: int
    settings: dict[str, Any]

    def __len__(self) -> int:
        return len(self.index)


def iid(samples: Samples, steps: int, seed: int) -> Plan:
    """Return passes over all samples, each in a new random order."""
    rng = np.random.default_rng([seed, 0])
    index = _repeat_passes(np.arange(len(samples)), steps, rng)
    return new_plan(samples, index, seed, {"kind": "iid", "steps": steps})


def coherent(
    samples: Samples,
    steps: int,
    seed: int,
    *,
    dwell: float = DWELL,
    stay: float = 1.0,
    jitter: int = 0,
    as_frequent: bool = False,
) -> Plan:
    """Return labels in a Markov chain: each stays with 1 - 1/dwell, else a uniform other one.

    With `as_frequent` the next label is drawn by its frequency and may repeat: drawn uniformly, a
    rare label would repeat its few samples often. An image stays for `stay` steps on average
    (1: a new one each step) while its label does, and the camera does a random walk over it, at
    most one pixel per step and within ± jitter.
    """
    if min(dwell, stay) < 1 or jitter < 0:
        raise ValueError(f"dwell and stay must be at least 1, jitter 0; got {dwell, stay, jitter}")
    rng = np.random.default_rng([seed, 1])
    labels = np.unique(samples.y)
    fresh_label = rng.random(steps) < 1 / dwell
    chain = _chain(samples.y, labels, fresh_label, rng, as_frequent=as_frequent)
    fresh = fresh_label | (rng.random(steps) < 1 / stay)
    fresh[0] = True
    fresh_index = np.zeros(steps, np.int64)
    for place, label in enumerate(labels):
        at = np.flatnonzero(fresh & (chain == place))
        fresh_index[at] = _repeat_passes(np.flatnonzero(samples.y == label), len(at), rng)
    index = fresh_index[np.maximum.accumulate(np.where(fresh, np.arange(steps), 0))]
    settings = {"kind": "coherent", "steps": steps, "dwell": dwell, "stay": stay, "jitter": jitter}
    settings |= {"as_frequent": True} if as_frequent else {}
    return replace(new_plan(samples, index, seed, settings), move=_random_walk(steps, jitter, rng))


def in_order(
    samples: Samples,
    *,
    starts: Ints | Sequence[int] = (0,),
    shifted: NDArray[np.bool_] | None = None,
) -> Plan:
    """Return every sample once, as recorded: windows of a recording, rows of a gas batch.

    `shifted` marks natural drift or faults already in the samples.
    """
    plan = new_plan(samples, np.arange(len(samples)), 0, {"kind": "in_order"})
    begins = np.unique(np.asarray([0, *starts], np.int64))
    marks = plan.shifted if shifted is None else shifted
    settings = plan.settings | {"starts": begins.tolist()}
    return replace(plan, starts=begins, shifted=marks, settings=settings)


def by_speaker(samples: Samples, seed: int) -> Plan:
    """Return every clip once, speaker by speaker and word by word, both in seeded order."""
    rng = np.random.default_rng([seed, 2])
    speakers = int(samples.group.max()) + 1
    turn = rng.permutation(speakers)[samples.group]
    word = rng.random((speakers, len(samples.classes)))[turn, samples.y]
    index = np.lexsort([rng.random(len(samples)), word, turn])
    return new_plan(samples, index, seed, {"kind": "by_speaker"})


def with_segments(plan: Plan, segments: Sequence[Segment], starts: Sequence[int] = (0,)) -> Plan:
    """Apply consecutive segments to the plan; the monitor's history restarts at `starts`.

    A segment is an episode, or CLEAN, and its number of steps.
    """
    steps = sum(length for _, length in segments)
    if steps != len(plan):
        raise ValueError(f"the plan must have {steps} steps for these segments, got {len(plan)}")
    names = tuple(dict.fromkeys(name for (name, level), _ in segments if level))
    lengths = [length for _, length in segments]
    which = [names.index(name) if level else NONE for (name, level), _ in segments]
    severity = np.repeat([level for (_, level), _ in segments], lengths)
    listed = [[name, level, length] for (name, level), length in segments]
    return replace(
        plan,
        corruption=np.repeat(which, lengths).astype(np.int64),
        severity=severity.astype(np.int64),
        shifted=plan.shifted | (severity > 0),
        starts=np.array(starts, np.int64),
        corruptions=names,
        settings=plan.settings | {"segments": listed, "starts": list(starts)},
    )


def followed_by(plan: Plan, other: Plan, offset: int) -> Plan:
    """Return a natural shift: the plan, then another plan of clean samples, all marked as shifted.

    Both index into `joined` samples: the other's begin at `offset`, the number of the first's.
    """
    if other.corruptions:
        raise ValueError(f"the plan that follows must be clean, got {other.corruptions}")
    shifted = replace(other, index=other.index + offset, shifted=np.ones(len(other), np.bool_))
    return concatenate(
        [plan, shifted],
        np.concatenate([plan.starts, other.starts[1:] + len(plan)]),
        {"kind": "followed", "first": plan.settings, "then": other.settings},
    )


def concatenate(plans: Sequence[Plan], starts: Ints, settings: dict[str, Any]) -> Plan:
    """Return consecutive plans as one; all but the first are clean or natural shifts."""
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(plan, name) for plan in plans])
        for name in ("index", "move", "corruption", "severity", "shifted")
    }
    return replace(plans[0], **columns, starts=starts, settings=settings)


def render(plan: Plan, samples: Samples, suite: Suite, begin: int, end: int) -> Array:
    """Return the inputs of steps begin..end-1, moved and corrupted."""
    blocks = [
        _block(plan, samples, suite, number) for number in range(begin // BLOCK, -(-end // BLOCK))
    ]
    first = begin // BLOCK * BLOCK
    return np.concatenate(blocks)[begin - first : end - first]


def new_plan(samples: Samples, index: Ints, seed: int, settings: dict[str, Any]) -> Plan:
    """Return a clean plan of samples in this order."""
    steps = len(index)
    return Plan(
        index=index.astype(np.int64),
        move=np.zeros((steps, 2), np.int8),
        corruption=np.full(steps, NONE, np.int64),
        severity=np.zeros(steps, np.int64),
        shifted=np.zeros(steps, np.bool_),
        starts=np.zeros(1, np.int64),
        corruptions=(),
        seed=seed,
        settings=settings | {"seed": seed, "samples": samples.sha256},
    )


def _repeat_passes(rows: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Return `count` rows: all rows in random order, then all again in another."""
    passes = -(-count // len(rows))
    return np.concatenate([rng.permutation(rows) for _ in range(max(passes, 1))])[:count]


def _chain(
    y: Ints, labels: Ints, fresh: NDArray[np.bool_], rng: np.random.Generator, *, as_frequent: bool
) -> Ints:
    """Return each step's label as its position in `labels`; a new one where `fresh`."""
    if as_frequent:
        shares = np.array([(y == label).mean() for label in labels])
        draws = rng.choice(len(labels), len(fresh), p=shares)
        last_fresh = np.maximum.accumulate(np.where(fresh, np.arange(len(fresh)), 0))
        repeated: Ints = draws[last_fresh]
        return repeated
    jump = np.where(fresh, rng.integers(1, max(len(labels), 2), len(fresh)), 0)
    chain: Ints = (rng.integers(len(labels)) + np.cumsum(jump)) % len(labels)
    return chain


def _random_walk(steps: int, reach: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return a random walk in two dimensions, reflected at ± reach."""
    if reach == 0:
        return np.zeros((steps, 2), np.int8)
    walk = np.cumsum(rng.integers(-1, 2, (steps, 2)), axis=0)
    folded = np.abs((walk + reach) % (4 * reach) - 2 * reach) - reach
    return folded.astype(np.int8)


def _block(plan: Plan, samples: Samples, suite: Suite, number: int) -> Array:
    steps = slice(number * BLOCK, (number + 1) * BLOCK)
    x = _translate(samples.x[plan.index[steps]], plan.move[steps])
    kinds = np.stack([plan.corruption[steps], plan.severity[steps]], axis=1)
    for which, level in np.unique(kinds[kinds[:, 1] > 0], axis=0).tolist():
        at = (kinds == (which, level)).all(axis=1)
        rng = np.random.default_rng([plan.seed, 3, number, which, level])
        x[at] = apply(suite, plan.corruptions[which], x[at], level, rng)
    return x


def _translate(x: Array, move: NDArray[np.int8]) -> Array:
    """Return images translated by whole pixels with mirrored edges; always a copy."""
    if not move.any():
        return x.copy()
    reach = int(np.abs(move).max())
    edge = [(0, 0), (reach, reach), (reach, reach), *[(0, 0)] * (x.ndim - 3)]
    wide = np.pad(x, edge, mode="symmetric")
    image = np.arange(len(x))[:, None, None]
    row = (reach - move[:, :1] + np.arange(x.shape[1]))[:, :, None]
    column = (reach - move[:, 1:] + np.arange(x.shape[2]))[:, None, :]
    translated: Array = wide[image, row, column]
    return translated
