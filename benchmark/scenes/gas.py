# SPDX-License-Identifier: Apache-2.0
"""Scenes of natural drift: the first months, then a later batch, a batch a scenario."""

from dataclasses import replace

import numpy as np

from benchmark.data import gas_drift
from benchmark.data.samples import Ints, Samples
from benchmark.scenes.scene import (
    CALIBRATION,
    DROP,
    IDENTITY,
    Kind,
    Name,
    Scene,
    alone,
    streamed,
)
from benchmark.streams import Plan

CALIBRATION_SHARE = 4  # few rows: a shorter stream repeats them less


def gas(name: Name, kind: Kind, seed: int) -> Scene:
    """One scene; there is no set of other things."""
    parts = gas_drift.load()
    if name == "ood":
        raise ValueError("gas has no out-of-distribution set")
    if name == "calibration":
        samples, steps = parts["calibration"], CALIBRATION // CALIBRATION_SHARE
        return alone(name, kind, samples, streamed(samples, steps, kind, seed))
    part = parts["development" if name in ("development", "rehearsal") else "test"]
    early = np.flatnonzero(np.isin(part.group, gas_drift.FIRST_BATCHES))
    if name == "identity":
        samples = part.take(early)
        return alone(name, kind, samples, streamed(samples, IDENTITY, kind, seed))
    batches = np.setdiff1d(part.group, gas_drift.FIRST_BATCHES).tolist()
    plans = []
    for batch in batches:
        later = np.flatnonzero(part.group == batch)
        plans.append(_drawn(part, early, kind, seed + batch, shifted=False))
        plans.append(_drawn(part, later, kind, seed + batch, shifted=True))
    scenario = np.repeat(np.arange(len(batches)), 2 * DROP)
    names = tuple(f"batch {batch}" for batch in batches)
    return Scene(name, kind, part, _in_a_row(plans), {}, scenario, names)


def _drawn(part: Samples, rows: Ints, kind: Kind, seed: int, *, shifted: bool) -> Plan:
    plan = streamed(part.take(rows), DROP, kind, seed)
    return replace(plan, index=rows[plan.index], shifted=np.full(DROP, shifted))


def _in_a_row(plans: list[Plan]) -> Plan:
    """Plans over the same samples, one after the other; history begins anew with every other."""
    return Plan(
        index=np.concatenate([plan.index for plan in plans]),
        move=np.concatenate([plan.move for plan in plans]),
        corruption=np.concatenate([plan.corruption for plan in plans]),
        severity=np.concatenate([plan.severity for plan in plans]),
        shifted=np.concatenate([plan.shifted for plan in plans]),
        starts=np.arange(0, DROP * len(plans), 2 * DROP),
        corruptions=(),
        seed=plans[0].seed,
        settings={"kind": "in a row", "plans": [plan.settings for plan in plans]},
    )
