# SPDX-License-Identifier: Apache-2.0
"""Judging, again and again: a judgement at each full interval of the clock, then the telling."""

import logging
import time
from collections.abc import Callable, Sequence
from threading import Event

from tcuq.errors import FleetError, MissingExtraError
from tcuq.fleet.judge.judgements import Retention
from tcuq.fleet.judge.notify import Courier, Receiver
from tcuq.fleet.judge.verdict import Judgement, Rules, judge
from tcuq.fleet.store.migrate import migrate

RETRY_S = 5.0  # a database that restarts is waited for

log = logging.getLogger("tcuq.fleet.judge")


def judge_now(
    database: str, rules: Rules, kept: Retention, unless_within_s: float = 0
) -> Judgement | None:
    """One judgement, and old things removed; None if another judge was faster."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError("psycopg", "fleet") from None
    try:
        with psycopg.connect(database, autocommit=True) as connection:
            migrate(connection)
            said = judge(connection, rules, unless_within_s)
            kept.apply(connection)
    except psycopg.OperationalError as error:
        raise FleetError(f"the database: {str(error).strip()}") from None
    return said


def judge_on(
    database: str,
    rules: Rules,
    kept: Retention,
    receivers: Sequence[Receiver],
    *,
    every_s: float,
    stopping: Event,
    heard: Callable[[Judgement], None],
) -> None:
    """Judge until stopped. Of two judges of one store one judges, the other finds it done."""
    couriers = [Courier(database, receiver) for receiver in receivers]
    for courier in couriers:
        courier.start()
    while not stopping.is_set():
        try:
            said = judge_now(database, rules, kept, every_s / 2)
        except FleetError as error:
            log.warning("not judged yet: %s", error)
            stopping.wait(RETRY_S)
            continue
        if said is not None:
            heard(said)
        for courier in couriers:
            courier.tell()
        stopping.wait(every_s - time.time() % every_s)
    for courier in couriers:
        courier.stop()
