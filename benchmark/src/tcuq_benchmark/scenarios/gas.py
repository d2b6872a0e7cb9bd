# SPDX-License-Identifier: Apache-2.0
"""Scenarios of natural drift: the first months, then one later batch per condition."""

from dataclasses import replace

import numpy as np

from tcuq_benchmark.data import gas_drift
from tcuq_benchmark.data.samples import Ints, Samples
from tcuq_benchmark.scenarios.scenario import (
    CALIBRATION,
    DROP,
    IN_DISTRIBUTION,
    Kind,
    Name,
    Scenario,
    make_plan,
    single_condition,
)
from tcuq_benchmark.streams import Plan, concatenate

CALIBRATION_SHARE = 4  # few rows: a shorter stream repeats them less


def gas(name: Name, kind: Kind, seed: int) -> Scenario:
    """Return one scenario; there is no out-of-distribution set."""
    parts = gas_drift.load()
    if name == "ood":
        raise ValueError("gas has no out-of-distribution set")
    if name == "calibration":
        samples, steps = parts["calibration"], CALIBRATION // CALIBRATION_SHARE
        return single_condition(name, kind, samples, make_plan(samples, steps, kind, seed))
    part = parts["development" if name == "development" else "test"]
    early = np.flatnonzero(np.isin(part.group, gas_drift.FIRST_BATCHES))
    if name == "in_distribution":
        samples = part.take(early)
        plan = make_plan(samples, IN_DISTRIBUTION, kind, seed)
        return single_condition(name, kind, samples, plan)
    batches = np.setdiff1d(part.group, gas_drift.FIRST_BATCHES).tolist()
    plans = []
    for batch in batches:
        later = np.flatnonzero(part.group == batch)
        plans.append(_plan_of_rows(part, early, kind, seed + batch, shifted=False))
        plans.append(_plan_of_rows(part, later, kind, seed + batch, shifted=True))
    condition = np.repeat(np.arange(len(batches)), 2 * DROP)
    names = tuple(f"batch {batch}" for batch in batches)
    # History restarts with every second plan.
    starts = np.arange(0, DROP * len(plans), 2 * DROP)
    settings = {"kind": "in a row", "plans": [plan.settings for plan in plans]}
    plan = concatenate(plans, starts, settings)
    return Scenario(name, kind, part, plan, {}, condition, names)


def _plan_of_rows(part: Samples, rows: Ints, kind: Kind, seed: int, *, shifted: bool) -> Plan:
    plan = make_plan(part.take(rows), DROP, kind, seed)
    return replace(plan, index=rows[plan.index], shifted=np.full(DROP, shifted))
