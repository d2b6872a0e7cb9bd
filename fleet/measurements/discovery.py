# SPDX-License-Identifier: Apache-2.0
"""False discovery in a fleet: e-BH beside devices judged alone, without the store and through it.

A million devices are judged every hour by the mean of their closed and running epochs; one in a
hundred drifts more and more, and cohorts share shocks. Then e-BH's worst case, which may reach the
level and no more, and the same devices in the store, timed.
"""

import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from fleet.measurements.evidence import HOURS, SITES, Array, Field
from fleet.tests.fixtures.load import durations
from fleet.tests.fixtures.servers import private_postgres
from results.result import Row, arguments, report
from tcuq.telemetry import RECORD, UNSIGNED_VERSION
from tcuq_fleet.judge.ebh import cutoff_or_unreachable, discover
from tcuq_fleet.judge.evidence import judged_q8
from tcuq_fleet.judge.evidence_counts import EvidenceCounts
from tcuq_fleet.judge.groups import judge_groups
from tcuq_fleet.judge.judge import count_evidence, judge
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.store.migrate import migrate
from tcuq_fleet.store.store import Store

LEVELS = (0.1, 0.01)
SHARE = 0.1
EPOCHS = 20
ROUNDS = 9


@dataclass(frozen=True, slots=True)
class Tally:
    """By judgement: false discoveries, their share, and the share of drifting devices found."""

    wrong: list[int] = field(default_factory=list)
    false: list[float] = field(default_factory=list)
    power: list[float] = field(default_factory=list)

    def add(self, flagged: Array, drifts: Array) -> None:
        """Add a judgement."""
        wrong = int((flagged & ~drifts).sum())
        self.wrong.append(wrong)
        self.false.append(wrong / max(int(flagged.sum()), 1))
        self.power.append(float((flagged & drifts).sum() / drifts.sum()))

    def power_by_epoch(self) -> str:
        """Return the power at the end of each epoch, in percent."""
        return " ".join(f"{100 * share:.0f}" for share in self.power[HOURS - 1 :: HOURS])


def discovered(evidence_q8: Array, level: float) -> Array:
    """Return which devices e-BH discovers."""
    counts = np.bincount(np.maximum(evidence_q8, 0))
    discovery = discover(np.arange(len(counts)), counts, len(evidence_q8), level)
    return np.asarray(evidence_q8 >= cutoff_or_unreachable(discovery.cutoff_q8))


def simulated(devices: int, epochs: int) -> tuple[list[Row], Field, Array, Array]:
    """Return rows, the field, and half bits of its last closed and running epoch."""
    field = Field(devices, np.random.default_rng(20))
    tallies = {level: Tally() for level in LEVELS}
    alone = Tally()
    named, false_groups = [], 0
    closed = running = np.zeros(devices, np.int8)
    for epoch in range(epochs):
        closed = running
        for running in field.epoch((epoch + 1) / epochs):
            evidence_q8 = judged_q8(closed, running)
            for level, tally in tallies.items():
                tally.add(discovered(evidence_q8, level), field.drifts)
            alone.add(evidence_q8 >= 256 * np.log2(1 / LEVELS[0]), field.drifts)
        counts = count_field(field, evidence_q8)
        groups = judge_groups(counts, LEVELS[0], SHARE)
        few = counts.by_group(field.drifting) < SHARE * groups.devices
        false_groups += int((groups.drifted & few).sum())
        named.append(bool(groups.named[groups.keys.index((1, 0, 0, 0))]))
        print(f"epoch {epoch + 1} of {epochs}", flush=True)
    over = f"{devices:,} devices, {epochs} epochs judged hourly"
    rows = [row for level in LEVELS for row in ebh_rows(over, level, tallies[level])]
    rows += [alone_row(over, alone), group_row(over, named, false_groups)]
    return rows, field, closed, running


def count_field(field: Field, evidence_q8: Array) -> EvidenceCounts:
    """Count a field's evidence; it has one profile, and a cohort is a firmware at a site."""
    firmware, site = np.divmod(field.cohort, SITES)
    columns = [np.ones_like(site), firmware, site, np.maximum(evidence_q8, 0)]
    rows, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    return EvidenceCounts(np.column_stack([rows, counts]))


def ebh_rows(over: str, level: float, tally: Tally) -> Iterator[Row]:
    """Yield what e-BH promises, and what it found."""
    mean, most = statistics.mean(tally.false), max(tally.false)
    yield Row(
        f"{over}: false-discovery proportion at level {level}, mean and largest of a judgement",
        f"mean ≤ {level}",
        f"{mean:.4f} and {most:.4f}"
        f" ({sum(tally.wrong):,} false in {len(tally.wrong):,} judgements)",
        mean <= level,
    )
    power = tally.power_by_epoch()
    yield Row(f"{over}: power at level {level} by epoch, %", "stated", power, None)


def alone_row(over: str, tally: Tally) -> Row:
    """Return what a threshold on each device alone would have done."""
    middle = tally.false[len(tally.false) // 2]
    return Row(
        f"{over}: each device judged alone at e ≥ {1 / LEVELS[0]:g}: false ones a judgement,"
        " false-discovery proportion in the first, middle and last; power by epoch, %",
        "stated",
        f"{statistics.mean(tally.wrong):,.0f};"
        f" {tally.false[0]:.2f}, {middle:.2f}, {tally.false[-1]:.2f}; {tally.power_by_epoch()}",
        None,
    )


def group_row(over: str, named: list[bool], false_groups: int) -> Row:
    """Return whether the broken firmware at one site was named, and nothing else."""
    first = named.index(True) + 1 if any(named) else None
    return Row(
        f"{over}: groups said to drift of which less than 10 % do; the broken cohort named from",
        "0",
        f"{false_groups}; epoch {first}",
        false_groups == 0,
    )


def worst_row(devices: int, epochs: int, level: float) -> Row:
    """Return the worst case: a cohort's e-values are equal, just enough, and have mean 1."""
    rng = np.random.default_rng(21)
    cohorts, drifting = 100, devices // 100
    size = (devices - drifting) // cohorts
    needed_q8 = int(np.ceil(256 * np.log2(devices / (level * (drifting + size)))))
    shares = []
    for struck in rng.binomial(cohorts, 2.0 ** (-needed_q8 / 256), epochs):
        counts = np.array([drifting, struck * size])
        discovery = discover(np.array([100 * 256, needed_q8]), counts, devices, level)
        shares.append(max(discovery.count - drifting, 0) / max(discovery.count, 1))
    mean, error = statistics.mean(shares), statistics.stdev(shares) / epochs**0.5
    return Row(
        f"the worst for e-BH, a cohort's e-values all one, {epochs:,} epochs: false-discovery"
        f" proportion at level {level}, mean and largest of an epoch",
        f"mean ≤ {level}",
        f"{mean:.4f} ± {error:.4f} and {max(shares):.2f}",
        mean <= level,
    )


def store_rows(field: Field, closed: Array, running: Array) -> Iterator[Row]:
    """Yield the last judgement through records, store, SQL and judge."""
    devices = len(running)
    with private_postgres() as server, Store(server.url) as store:
        migrate(store.connection)
        store_field(store, field, closed, running)
        store.connection.execute("VACUUM ANALYZE devices")
        judgement = judge(store.connection, Rules())
        right = discovered(judged_q8(closed, running), LEVELS[0])
        rows = store.connection.execute(
            "SELECT device FROM suspects WHERE evidence_q8 >= %s",
            [cutoff_or_unreachable(judgement.cutoff_q8 if judgement else None)],
        )
        listed = {device % 2**64 for (device,) in rows}
        same = judgement is not None and listed == set(np.flatnonzero(right).tolist())
        yield Row(
            f"{devices:,} devices through records, store and judge: the devices discovered",
            "the same as out of the store",
            f"{'the same' if same else 'others'}, {len(listed):,}",
            same,
        )
        yield from time_rows(store, devices)


def store_field(store: Store, field: Field, closed: Array, running: Array) -> None:
    """Store one record per device, which carries both epochs."""
    sites = [store.site(f"site-{i}") for i in range(SITES)]
    for start in range(0, len(running), field.size):
        part = slice(start, start + field.size)
        records = np.zeros(field.size, RECORD)
        records["version"], records["epoch"] = UNSIGNED_VERSION, 1
        records["device"] = np.arange(start, start + field.size)
        firmware, site = divmod(start // field.size, SITES)
        records["profile"], records["firmware"] = 1, firmware
        records["evidence"], records["closed"] = running[part], closed[part]
        store.put(Batch.of([(records, sites[site])]))


def time_rows(store: Store, devices: int) -> Iterator[Row]:
    """Yield the seconds of e-BH alone."""
    with store.connection.transaction():
        store.connection.execute("SET LOCAL jit = off")
        ((since,),) = store.connection.execute("SELECT now() - interval '3 hours'").fetchall()
        ebh = durations(
            lambda: count_evidence(store.connection, since, since)[0].discovery(LEVELS[0]), ROUNDS
        )
    yield Row(
        f"{devices:,} devices: e-BH in the store, seconds, best of {ROUNDS} and median",
        "≤ 0.5",
        f"{min(ebh):.2f} and {statistics.median(ebh):.2f}",
        min(ebh) <= 0.5,
    )


def main() -> None:
    """Measure and report."""
    args = arguments()
    devices, epochs = (20_000, 4) if args.short else (1_000_000, EPOCHS)
    rows, field, closed, running = simulated(devices, epochs)
    rows += [worst_row(1_000_000, 20_000, level) for level in LEVELS]
    rows += store_rows(field, closed, running)
    sys.exit(report("fleet_discovery", rows, ("psycopg", "scipy"), write=args.write))


if __name__ == "__main__":
    main()
