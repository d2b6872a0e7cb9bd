# SPDX-License-Identifier: Apache-2.0
"""What measurements of late drift share: simulated fleets stored hour by hour, and their rows."""

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence

from fleet.tests.fixtures.servers import new_database, private_postgres
from results.result import Row, arguments, report
from tcuq.telemetry import decode
from tcuq_fleet.judge.ebh import cutoff_or_unreachable
from tcuq_fleet.judge.judge import judge
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.servers import Postgres
from tcuq_fleet.simulate.devices import NEVER, Devices, Plan
from tcuq_fleet.simulate.run import simulate_records
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.store.migrate import migrate
from tcuq_fleet.store.store import Store

LEVEL = 0.1
STEPS_PER_HOUR = (360, 1800)


def stored_hours(server: Postgres, plan: Plan) -> Iterator[tuple[int, Store, set[int]]]:
    """Simulate a fleet; yield each hour with the store that has its records, and who drifts."""
    devices = Devices(plan)
    drifting = set(devices.device[devices.drifts_from != NEVER].tolist())
    with Store(new_database(server, "late")) as store:
        migrate(store.connection)
        site = store.site("berlin")
        for hour, rows in enumerate(simulate_records(devices)):
            store.put(Batch.of([(decode(rows.tobytes()).records, site)]))
            yield hour, store, drifting


def judged(store: Store) -> set[int]:
    """Judge now; return the devices discovered."""
    judgement = judge(store.connection, Rules(level=LEVEL))
    cutoff = cutoff_or_unreachable(None if judgement is None else judgement.cutoff_q8)
    rows = store.connection.execute("SELECT device FROM suspects WHERE evidence_q8 >= %s", [cutoff])
    return {device % 2**64 for (device,) in rows}


def share_of(discovered: set[int], drifting: set[int]) -> float:
    """Return the share of drifting devices that are discovered."""
    return len(discovered & drifting) / len(drifting)


def false_share(discovered: set[int], drifting: set[int]) -> float:
    """Return the share of discovered devices that do not drift."""
    return len(discovered - drifting) / max(1, len(discovered))


def false_row(what: str, shares: Sequence[Sequence[float]]) -> Row:
    """Return the row of the false shares of all judgements of all fleets."""
    every = [share for fleet in shares for share in fleet]
    mean = statistics.mean(every)
    return Row(
        f"{what}, mean of {len(every)} judgements", f"≤ {LEVEL}", f"{mean:.4f}", mean <= LEVEL
    )


def measure_fleets(
    name: str, rows_of: Callable[[Postgres, int, int], list[Row]], short: int, long: int
) -> None:
    """Measure and report; --short: few fleets at the lower rate."""
    args = arguments()
    with private_postgres() as server:
        rows = []
        for steps in STEPS_PER_HOUR[:1] if args.short else STEPS_PER_HOUR:
            rows += rows_of(server, short if args.short else long, steps)
    sys.exit(report(name, rows, ("psycopg",), write=args.write))
