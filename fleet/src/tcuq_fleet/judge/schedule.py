# SPDX-License-Identifier: Apache-2.0
"""Schedule: judge at every full interval of the clock, then notify the receivers."""

import logging
import time
from collections.abc import Callable, Sequence
from threading import Event

from tcuq_fleet.errors import FleetError
from tcuq_fleet.judge.judge import Judgement, judge
from tcuq_fleet.judge.metrics import JudgeMetrics
from tcuq_fleet.judge.notify import Notifier, Receiver
from tcuq_fleet.judge.retention import Retention
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.store.connection import JUDGE, connected
from tcuq_fleet.store.migrate import check_schema

RETRY_S = 5.0  # while the database is away

log = logging.getLogger("tcuq_fleet.judge")


def judge_now(
    database: str, rules: Rules, retention: Retention, unless_within_s: float = 0
) -> Judgement | None:
    """Judge once and delete old rows; None if another judge was faster."""
    with connected(database, JUDGE) as connection:
        check_schema(connection)
        judgement = judge(connection, rules, unless_within_s)
        retention.apply(connection)
    return judgement


def judge_periodically(
    database: str,
    rules: Rules,
    retention: Retention,
    receivers: Sequence[Receiver],
    *,
    every_s: float,
    stopping: Event,
    on_judgement: Callable[[Judgement], None],
    metrics: JudgeMetrics | None = None,
) -> None:
    """Judge until `stopping` is set. Of two judges of one store, only one judges at a time."""
    metrics = metrics or JudgeMetrics()
    metrics.interval.set(every_s)
    notifiers = [
        Notifier(database, each, metrics.delivered.labels(each.label).set_to_current_time)
        for each in receivers
    ]
    for notifier in notifiers:
        notifier.start()
    while not stopping.is_set():
        began = time.monotonic()
        try:
            judgement = judge_now(database, rules, retention, every_s / 2)
        except FleetError as error:
            log.warning("not judged yet: %s", error)
            metrics.fail()
            stopping.wait(RETRY_S)
            continue
        metrics.observe(judgement, time.monotonic() - began)
        if judgement is not None:
            on_judgement(judgement)
        for notifier in notifiers:
            notifier.notify()
        stopping.wait(every_s - time.time() % every_s)
    for notifier in notifiers:
        notifier.stop()
